"""Cold starts: seconds from a new process to the first answer of an exported folder, and its memory.

    python benchmarks/cold_start.py [--turns 3] [--cases classifier ...]

Each turn is a bare process that has TensorFlow alone; cases take turns. Files have been read before: a first start from
a cold disk takes longer. Medians of seconds by the clock: import of TensorFlow, loading of the folder, first answer,
second answer; and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BARE = """
import json, sys, time
for name in ("keras", "keras_transformers", "tensorflow_text", "tokenizers"):
    sys.modules[name] = None
marks = [time.perf_counter()]
import tensorflow as tf
marks.append(time.perf_counter())
serve = (model := tf.saved_model.load(sys.argv[1])).signatures["serving_default"]
marks.append(time.perf_counter())
for _ in range(2):
    serve(text=tf.constant(["I paid for the parcel twice."]))
    marks.append(time.perf_counter())
(peak,) = [int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps([after - before for before, after in zip(marks, marks[1:])] + [peak]))
"""

BASE = "BERT-base's sizes"  # random weights, with the tokenizer of the small model
LABELS = {"labels": ["negative", "positive"], "seed": 0}
# Name in the zoo, task, options to load and to export it.
CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "classifier": ("minilm_mini_en", "classification", LABELS, {}),
    "classifier, frozen": ("minilm_mini_en", "classification", LABELS, {"frozen": True}),
    "classifier, compiled": ("minilm_mini_en", "classification", LABELS, {"compiled": True}),
    BASE: ("mini_bert_en", "classification", LABELS, {}),
    "generator": ("gpt_mini_en", "causal_lm", {}, {"max_new_tokens": 20}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=[*CASES])
    arguments = parser.parse_args()
    import zoo
    from keras_transformers.families import bert
    from keras_transformers.tasks import Task

    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: Path(temporary, str(number)) for number, name in enumerate(arguments.cases)}
        for name, folder in folders.items():
            model, task, loading, exporting = CASES[name]
            made = zoo.load(model, task, **loading)
            if name == BASE:
                made = Task(task, bert(30_522, 12, 12, 768), made.tokenizer, labels=made.labels)
            made.export(folder, **exporting)
        found: dict[str, list[list[float]]] = {name: [] for name in folders}
        for turn in range(arguments.turns + 1):  # the first one reads the files
            for name, folder in folders.items():
                command = [sys.executable, "-c", BARE, str(folder)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                if turn:
                    found[name].append(json.loads(output))
        print(f"{'':22}   folder   import     load    first   second     peak")
        for name, rows in found.items():
            *seconds, peak = map(statistics.median, zip(*rows, strict=True))
            size = sum(path.stat().st_size for path in folders[name].rglob("*") if path.is_file()) / 1e6
            print(f"{name:22}{size:6.0f} MB" + "".join(f"{each:7.2f} s" for each in seconds) + f"{peak:6.0f} MB")


if __name__ == "__main__":
    main()
