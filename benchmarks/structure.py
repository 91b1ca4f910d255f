"""How much a reader opens: files and functions from a call to its answer, counted by running it; and sizes of code.

    python benchmarks/structure.py

A function counts when it runs on the way, the first time, so that what is traced counts too. Tokenizer, models, heads
and layers are left out: the question is what stands above them.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tempfile
import tokenize
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import keras_transformers
import zoo
from keras_transformers.families import bert, gpt2
from keras_transformers.text.tokenizer import Tokenizer

ROOT = Path(keras_transformers.__file__).resolve().parent.parent
BELOW = ("text", "models", "heads", "layers", "config.py", "families", "families.py", "block_options.py", "__init__.py")
TEXTS = ["a fine film", "a dull film"]
NAMES = ("classification", "token_classification", "masked_lm", "pretraining", "causal_lm", "seq2seq_lm")


def opened(call: Callable[[], Any], left_out: Collection[str] = BELOW) -> tuple[int, int, list[str]]:
    """Files and functions of ours that a call runs, outside of the rooms that are left out; and the files by name."""
    seen = set()

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT) and not frame.f_code.co_name.startswith("<"):
            package, *inside = path.relative_to(ROOT).parts
            is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # the body of a class runs when it is imported
            if is_function and package in ("keras_transformers", "zoo") and inside[0] not in left_out:
                seen.add((str(Path(package, *inside)), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = sorted({file for file, _ in seen})
    return len(files), len(seen), files


def walks() -> dict[str, int]:
    """Files of ours, of all rooms, from a call to its answer: what a reader opens who leaves nothing out."""
    with tempfile.TemporaryDirectory() as folder:
        classifier().save(folder)
        tasks = [zoo.load(folder)]  # and all is imported that a load imports
        calls = {
            "load a folder": lambda: zoo.load(folder),
            "first predict": lambda: tasks[0].predict(TEXTS[:1]),
            "second predict": lambda: tasks[0].predict(TEXTS[:1]),
            "second predict, two texts": lambda: tasks[0].predict(TEXTS),
        }
        return {name: opened(call, left_out=())[0] for name, call in calls.items()}


def make(name: str, *arguments: Any, **options: Any) -> Any:
    """A task, by whichever constructor there is."""
    from keras_transformers import tasks

    if hasattr(tasks, "TASKS"):
        return tasks.TASKS[name](*arguments, **options)
    return tasks.Task(name, *arguments, **options)


def classifier() -> Any:
    tokenizer = Tokenizer.train(TEXTS, vocabulary_size=60)
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    return make("classification", config, tokenizer, labels=["negative", "positive"])


def language_model() -> Any:
    tokenizer = Tokenizer.train(TEXTS, 280, model="byte_pair")
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    return make("causal_lm", gpt2(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id]), tokenizer)


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        path = ROOT / folder
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def lines(*folders: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*folders))


def share_of_comments(*folders: str) -> float:
    """Comments, at the ends of lines too, per line of code: docstrings and blank lines count for neither."""
    comments = code = 0
    for path in sources(*folders):
        with open(path, "rb") as file:
            tokens = list(tokenize.tokenize(file.readline))
        comments += sum(token.type == tokenize.COMMENT and "fmt:" not in token.string for token in tokens)
        skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {n for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str) for n in range(node.lineno, node.end_lineno + 1)}  # fmt: skip
        code += len({token.start[0] for token in tokens if token.type not in skipped} - docs)
    return comments / code


def long_functions(limit: int = 40) -> list[str]:
    """Functions of more lines than the limit: signature and body, without the docstring."""
    found = []
    for path in sources("keras_transformers", "zoo"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                signature = node.body[0].lineno - node.lineno
                length = signature + (body[-1].end_lineno - body[0].lineno + 1 if body else 0)
                if length > limit:
                    found.append(f"{path.relative_to(ROOT)}:{node.name} {length}")
    return found


def classes_of_tasks() -> tuple[int, int]:
    """The depth of the tree of classes in `tasks/`, and the methods in it that subclasses override or must."""
    classes = {}
    for path in sources("keras_transformers/tasks"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                classes[node.name] = ([ast.unparse(base) for base in node.bases], methods)

    def ancestors(name):
        return [name, *(a for base in classes.get(name, ([], ()))[0] if base in classes for a in ancestors(base))]

    hooks = {
        method
        for name in classes
        for other in ancestors(name)[1:]
        for method in classes[name][1] & classes[other][1]
        if not method.startswith("__")
    }
    return max(len(ancestors(name)) for name in classes), len(hooks)


def places_that_test_a_name() -> list[str]:
    """Comparisons with the name of a task or a family, outside `tasks/`, `families` and the tables of names."""
    encoders = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "electra", "albert",
                "modernbert", "eurobert", "nomic_bert", "gte", "deberta-v2")  # fmt: skip
    families = (
        *encoders,
        "gpt2",
        "openai-gpt",
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "transformer",
        "marian",
        "t5",
        "bart",
        "mbart",
    )
    names = "|".join(re.escape(name) for name in (*NAMES, *families))
    pattern = re.compile(rf'(==|!=|\bin\b) \(?"({names})"|"({names})"\)? (==|in\b)|\.family (==|!=|in|not in) ')
    places = []
    for path in sources("keras_transformers", "zoo"):
        inside = path.relative_to(ROOT).parts
        if inside[1] in ("tasks", "families", "families.py") or "names" in inside:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line) and ">>>" not in line:
                places.append(f"{'/'.join(inside)}:{number}")
    return places


def main() -> None:
    results: dict[str, Any] = {"files of all rooms": walks()}  # first: what `predict` imports counts, too
    task, writer = classifier(), language_model()
    results |= {
        "predict": opened(lambda: task.predict(["a fine film"])),
        "generate": opened(lambda: writer.generate(["a fine"], max_new_tokens=3)),
        "dataset": opened(lambda: next(iter(task.dataset(TEXTS, [0, 1])))),
    }
    cli = [f"zoo/{p.name}" for p in (ROOT / "zoo").glob("_cli*.py")] + ["zoo/__main__.py", "zoo/cli", "zoo/_bare.py"]
    cli = [name for name in cli if (ROOT / name).exists()]
    load = ["zoo/loading/load.py", "zoo/loading/checkpoint.py"]
    parts = {"tasks": ["keras_transformers/tasks"], "generation": ["keras_transformers/generation"],
             "export": ["keras_transformers/tasks/exports/saved_model.py"], "load": load,
             "command line": cli}  # fmt: skip
    results["lines"] = {name: lines(*folders) for name, folders in parts.items()}
    results["lines"]["all"] = sum(results["lines"].values())
    results["comments"] = {
        name: round(share_of_comments(f"keras_transformers/{name}"), 3) for name in ("generation", "layers", "models")
    }
    results["class tree: depth, overridden methods"] = classes_of_tasks()
    results["places that test a task's or family's name"] = places_that_test_a_name()
    results["functions over 40 lines"] = long_functions()
    for name, value in results.items():
        print(name, json.dumps(value))


if __name__ == "__main__":
    main()
