"""Folders of `format="onnx"` in transformers.js and sentence-transformers, beside `task.predict`.

    python benchmarks/runtimes.py FOLDER [--node FOLDER_OF_NODE_MODULES] [--python PYTHON]

FOLDER gets the exports. The folder of Node has had `ONNXRUNTIME_NODE_INSTALL_CUDA=skip npm install
@huggingface/transformers`; PYTHON is that of an environment with `pip install "sentence-transformers[onnx]<6"
torch==2.13.0`, which cannot be this one: its Optimum needs `transformers` 4. Without an option its client is left out.
Classifiers have random heads. It prints the largest differences; labels have to be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

LABELS = {"classification": ["negative", "positive", "neutral"], "token_classification": ["O", "B-PER", "I-PER"]}
MODELS = {
    "classification": "mini_bert_en", "token_classification": "mini_bert_en", "question_answering": "mini_bert_en",
    "masked_lm": "mini_bert_en", "ranking": "mini_bert_en", "sentence_embedding": "minilm_mini_en",
}  # fmt: skip
TEXTS = [
    "a fine film", "wochenendtagenwecker", "embeddings and hillclimbing", "façade naïve, Ärger; e\u0301t\u00e9",
    "a 😀 day 👩‍👩‍👧", "a" * 2**20, "Ann Smith went to Oslo with Bob, who works in Munich. It rained.",
]  # fmt: skip
ASKED = {"texts": TEXTS, "question": "what is fine?", "context": "a fine film, a warm day", "gap": "a [MASK] film"}
SENTENCE_TRANSFORMERS = """
import json, sys
from sentence_transformers import CrossEncoder, SentenceTransformer
folder, file = sys.argv[1:]
texts, options = json.load(open(file))["texts"], {"backend": "onnx", "local_files_only": True}
vectors = SentenceTransformer(folder + "/sentence_embedding", **options).encode(texts)
scores = CrossEncoder(folder + "/ranking", **options).predict([(text, texts[0]) for text in texts])
print(json.dumps({"sentence_embedding": vectors.tolist(), "ranking": scores.tolist()}))
"""


def exported(folder: Path) -> dict[str, Any]:
    """Export a task of each kind, and return its answers."""
    import zoo

    columns = {
        "question_answering": ([ASKED["question"]], [ASKED["context"]]),
        "masked_lm": ([ASKED["gap"]],),
        "ranking": (TEXTS, TEXTS[:1] * len(TEXTS)),
    }
    answers = {}
    for name, model in MODELS.items():
        options = {"labels": LABELS[name]} if name in LABELS else {}
        task = zoo.load(model, name, seed=0, **options)
        if options:
            kernel = task.model.get_layer("classifier").kernel
            kernel.assign(np.random.default_rng(0).normal(0, 1, kernel.shape))
        task.export(folder / name, format="onnx")
        answers[name] = task.predict(*columns.get(name, (TEXTS,)))
    return answers


def ask(*command: Any, **options: Any) -> dict[str, Any]:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "USE_TF": "0"}  # transformers 4 refuses Keras 3, where it is
    done = subprocess.run(
        [*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, env=environment, **options
    )
    return json.loads(done.stdout.splitlines()[-1])


def largest(found: Any, expected: Any) -> str:
    return f"{np.abs(np.array(found) - np.array(expected)).max():.1g}"


def compare_node(found: dict[str, Any], ours: dict[str, Any]) -> None:
    chances = [{one["label"]: one["score"] for one in row} for row in found["classification"]]
    expected = [row["probabilities"] for row in ours["classification"]]
    assert [max(row, key=row.get) for row in chances] == [row["label"] for row in ours["classification"]]
    print("  classification", largest([[row[name] for name in LABELS["classification"]] for row in chances],
                                      [[*row.values()] for row in expected]))  # fmt: skip
    print("  vectors", largest(found["sentence_embedding"], [row["embedding"] for row in ours["sentence_embedding"]]))
    for text, row, answer in zip(TEXTS, found["token_classification"], ours["token_classification"], strict=True):
        # Its tokens have no places: those that begin a word, in order, are ours.
        first = [(one["entity"], one["score"]) for one in row if not one["word"].startswith("##")]
        expected = [(one["label"], one["score"]) for one in answer["tokens"]]
        same = [one[0] for one in first] == [one[0] for one in expected]
        print(f"  words of {text[:30]!r}: labels {'equal' if same else f'differ: {first} {expected}'}")
    print("  answer", found["question_answering"], ours["question_answering"][0]["answer"])
    (fills,) = ours["masked_lm"][0]["fills"]
    theirs = [(one["token_str"], one["score"]) for one in found["masked_lm"]]
    assert [name for name, _ in theirs] == [name for name, _ in fills]
    print("  fills", largest([score for _, score in theirs], [score for _, score in fills]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--node", type=Path)
    parser.add_argument("--python", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "asked.json"
    file.write_text(json.dumps(ASKED), encoding="utf-8")
    ours = exported(folder)
    if arguments.node:
        shutil.copy(Path(__file__).with_suffix(".mjs"), arguments.node)
        print("transformers.js")
        compare_node(ask("node", "runtimes.mjs", f"{folder}/", file, cwd=arguments.node), ours)
    if arguments.python:
        print("sentence-transformers")
        found = ask(arguments.python, "-c", SENTENCE_TRANSFORMERS, folder, file)
        vectors = [row["embedding"] for row in ours["sentence_embedding"]]
        print("  vectors", largest(found["sentence_embedding"], vectors))
        print("  scores", largest(found["ranking"], [row["score"] for row in ours["ranking"]]))


if __name__ == "__main__":
    main()
