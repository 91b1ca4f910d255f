"""The rules of the house that a machine can check: what may import what, and how long things may be."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rules import assert_none

from keras_transformers.checkpoints.settings.names import task_names

ROOT = Path(__file__).resolve().parent.parent

# Left never imports right.
ORDER = (
    "quiet", "utils", "config", "families", "layers", "models", "heads", "text", "data", "training", "generation",
    "checkpoints", "tasks", "analysis", "zoo",
)  # fmt: skip
MAX_FILE, MAX_FUNCTION, MAX_ROOM = 300, 40, 24
MIN_FILE = 20

# The first words of functions' docstrings. Add the verb that is missing.
VERBS = """
Accept Add Allow Answer Append Apply Ask Assign Attach Attend Average Begin Build Call Change Check Choose Clear Close
Collect Combine Compare Compile Compose Compute Concatenate Connect Continue Convert Copy Count Create Cut Declare
Decode Decompose Decorate Define Delete Describe Detach Detect Distribute Divide Do Download Draw Drop Embed Encode
End Estimate Evaluate Exchange Expand Explain Export Extend Extract Favour Fetch Fill Find Fine-tune Fit Flatten
Forget Format Freeze Gather Generate Get Give Guess Halve Ignore Implement Import Initialize Insert Interrupt Iterate
Join Keep Label Learn Leave Let Lift List Load Lock Look Lower Make Map Mark Measure Merge Mix Move Multiply Narrow
Normalise Normalize Open Pack Pad Parse Pass Pre-train Predict Prefetch Prepare Print Project Put Raise Rank Read
Rebuild Record Reduce Refuse Register Reject Remember Remove Rename Render Reorder Replace Require Reshape Resolve
Restore Return Rotate Rule Run Save Say Scatter Search Select Send Serialize Serve Set Show Shuffle Skip Slice Sort
Split Spread Start State Stop Store Strip Sum Switch Take Tell Tokenize Trace Track Train Translate Transpose Trim
Truncate Try Turn Undo Unlock Unpack Untrack Update Validate Verify Warn Widen Wrap Write Yield
"""
NOUN = re.compile(r"(?!Warn )\S+ of\b")  # "Split of a name": some verbs of the list are nouns, too
MAX_OTHER_OPENINGS = 0.10

SOURCES = sorted(path for folder in ("keras_transformers", "zoo") for path in (ROOT / folder).rglob("*.py"))
TREES = {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def rank(module: tuple[str, ...]) -> int | None:
    """The place in the import order of a module of ours; None for other modules and the bare package."""
    if module[0] == "zoo":
        return ORDER.index("zoo")
    return ORDER.index(module[1]) if module[0] == "keras_transformers" and len(module) > 1 else None


def imports(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Every import of a file, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((*node.module.split("."), alias.name) for alias in node.names)


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path, tree in TREES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path, tree in TREES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def body_length(function: ast.FunctionDef) -> int:
    """Lines of the body without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def begins_with_verb(docstring: str) -> bool:
    """Whether the first word is a verb in the imperative, as far as a list of verbs tells."""
    return docstring.split(None, 1)[0].rstrip(".") in VERBS.split() and not NOUN.match(docstring)


def is_property(function: ast.FunctionDef) -> bool:
    return any(re.search(r"property$|\.(setter|getter)$", ast.unparse(node)) for node in function.decorator_list)


def test_every_subpackage_has_its_place():
    for path in TREES:
        module = path.with_suffix("").parts
        if module != ("keras_transformers", "__init__"):
            assert rank(module) is not None, path


@pytest.mark.integration
def test_left_never_imports_right():
    upward = []
    for path, tree in TREES.items():
        # The public names are imported from everywhere, for type checkers only: see tests/test_public_names.py.
        own = rank(path.with_suffix("").parts) if path != Path("keras_transformers/__init__.py") else len(ORDER)
        upward += [f"{path} imports {'.'.join(module)}" for module in imports(tree) if (rank(module) or 0) > own]
    assert_none(upward, f"A file imports only from its own room and from rooms left of it in {', '.join(ORDER)}:")


@pytest.mark.integration
def test_imports_are_absolute():
    nodes = ((path, node) for path, tree in TREES.items() for node in ast.walk(tree))
    relative = [f"{path}:{node.lineno}" for path, node in nodes if getattr(node, "level", 0)]
    assert_none(relative, "An import names the whole module, without leading dots.")


def imported_files(path: Path) -> set[Path]:
    """Return the files of ours that a file imports, for type checkers or inside functions too."""
    found = set()
    for module in imports(TREES[path]):
        for parts in filter(None, (module, module[:-1])):
            found |= {Path(*parts).with_suffix(".py"), Path(*parts, "__init__.py")} & TREES.keys()
    return found - {path}


@pytest.mark.integration
def test_no_imports_in_circles():
    left = without_order({path: imported_files(path) for path in TREES if path.name != "__init__.py"})
    assert not left, f"these import each other in a circle, or a file of one: {sorted(map(str, left))}"


# Its names are imported from everywhere, for type checkers only. In the zoo no file is left out: what users import or
# run stands above all that it opens, and nothing below imports it.
DOOR = Path("keras_transformers/__init__.py")


def without_order(below: dict[Path, set[Path]]) -> dict[Path, set[Path]]:
    """Return what is left of a graph of imports when each that imports nothing of the rest is taken away, in turn."""
    while free := [path for path, others in below.items() if not others & below.keys()]:
        below = {path: others for path, others in below.items() if path not in free}
    return {path: others & below.keys() for path, others in below.items()}


def test_circles_are_left_when_the_order_is_taken_away():
    a, b, c, d = map(Path, "abcd")
    assert without_order({a: {b}, b: {c}, c: set()}) == {}
    assert without_order({a: {b}, b: {c}, c: {b}}) == {a: {b}, b: {c}, c: {b}}
    assert without_order({a: {b}, b: {c}, c: {a}, d: set()}).keys() == {a, b, c}


@pytest.mark.integration
def test_folders_have_an_order():
    """Imports for type checkers and inside functions count: what a file can ask for stands below it."""
    steps: dict[tuple[Path, Path], list[str]] = {}
    for path in sorted(TREES.keys() - {DOOR}):
        for other in {other.parent for other in imported_files(path)} - {path.parent}:
            steps.setdefault((path.parent, other), []).append(path.name)
    folders = {path.parent for path in TREES}
    left = without_order({folder: {other for begin, other in steps if begin == folder} for folder in folders})
    circles = {step: names for step, names in steps.items() if step[1] in left and step[0] in reaches(left, step[1])}
    assert_none(
        (
            f"{step[0]} imports {step[1]}, in {names}"
            for step, names in sorted(circles.items(), key=lambda x: len(x[1]))
        ),
        "No two folders import each other, nor several in a circle (a room's own files are a folder, too): move a file "
        "to the folder that uses it, or a record below both, or hand a function in as an argument.",
    )


def reaches(below: dict[Path, set[Path]], folder: Path) -> set[Path]:
    """Return the folders that a folder imports, or that these import."""
    found: set[Path] = set()
    new = {folder}
    while new := set().union(*(below[one] for one in new)) - found:
        found |= new
    return found


def test_files_are_told_apart_by_name():
    names = [path.name for path in TREES if path.name != "__init__.py"]
    repeated = {name for name in names if names.count(name) > 1}
    assert not repeated


def test_rooms_say_what_is_in_them():
    silent = [path for path, tree in TREES.items() if path.name == "__init__.py" and not ast.get_docstring(tree)]
    assert not silent


def test_rooms_are_small():
    sizes = Counter(path.parent for path in TREES if path.name != "__init__.py" and path.parent != Path("zoo"))
    assert max(sizes.values()) <= MAX_ROOM, sizes.most_common(3)


def count_lines() -> dict[Path, int]:
    return {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in TREES}


def test_files_are_short():
    long = [f"{count} lines in {path}" for path, count in count_lines().items() if count > MAX_FILE]
    assert_none(long, f"A file has at most {MAX_FILE} lines: split it, one idea a file.")


def test_no_file_is_too_small_to_stand_alone():
    """Entries of the zoo are small, and so are the files whose names Python gives: `__init__`, `__main__`."""
    others = {path for path in TREES if path.parent != Path("zoo") and not path.stem.startswith("__")}
    small = [f"{count} lines in {path}" for path, count in count_lines().items() if path in others and count < MIN_FILE]
    assert_none(small, f"A file has at least {MIN_FILE} lines: put smaller ones into the files that use them.")


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Return the rows.", True), ("Split a name.", True), ("Fine-tune a model", True), ("Stop.", True),
        ("Warn of a label.", True), ("The rows of a file.", False), ("Rows, by length.", False),
        ("Whether a row fits.", False), ("Split of a data set.", False), ("Record of a run.", False),
        ("Returns the rows.", False),
    ],
)  # fmt: skip
def test_openings_of_docstrings_are_told_apart(docstring, expected):
    assert begins_with_verb(docstring) is expected


@pytest.mark.integration
def test_docstrings_of_functions_begin_with_a_verb():
    """One in ten may begin with another word: a class of the field, `B`, a number."""
    texts = {
        f"{path}:{node.lineno} {node.name}": docstring
        for path, node in functions()
        if not is_property(node) and (docstring := ast.get_docstring(node))
    }
    others = {place: text.partition("\n")[0] for place, text in texts.items() if not begins_with_verb(text)}
    share = len(others) / len(texts)
    listed = "\n".join(f"{place}: {line}" for place, line in others.items())
    print(f"{share:.1%} of {len(texts)} docstrings begin with another word than a verb of VERBS:\n{listed}")
    assert share <= MAX_OTHER_OPENINGS


@pytest.mark.integration
def test_sections_of_docstrings_stand_at_the_left():
    headings = re.compile(r"^ +(Args|Returns|Raises|Yields|Example):$", re.MULTILINE)
    nodes = ((path, node) for path, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    indented = [f"{path}: {node.name}" for path, node in nodes if headings.search(ast.get_docstring(node) or "")]
    assert not indented


@pytest.mark.integration
def test_functions_are_short():
    long = {f"{path}:{node.lineno} {node.name}": body_length(node) for path, node in functions()}
    too_long = [f"{length} lines in {name}" for name, length in long.items() if length > MAX_FUNCTION]
    assert_none(too_long, f"The body of a function has at most {MAX_FUNCTION} lines, without its docstring.")
    assert sorted(long.values())[len(long) // 2] <= 15


@pytest.mark.integration
def test_no_star_imports():
    assert not [(path, module) for path, tree in TREES.items() for module in imports(tree) if module[-1] == "*"]


@pytest.mark.integration
def test_layers_leave_get_config_to_keras():
    """It writes the configuration of a layer whose arguments are plain values."""
    by_hand = [path for path, node in functions() if node.name == "get_config" and "layers" in path.parts]
    assert not by_hand


@pytest.mark.integration
def test_one_attention_class():
    found = [(str(path), node.name) for path, node in classes() if "attention" in node.name.lower()]
    assert found == [("keras_transformers/layers/attention/attention.py", "Attention")]


@pytest.mark.integration
def test_models_are_functional():
    """`keras.Model` is called, never subclassed."""
    bases = [(path, node.name, ast.unparse(base)) for path, node in classes() for base in node.bases]
    assert not [item for item in bases if re.fullmatch(r"(keras\.)?(models\.)?(Model|Functional|Sequential)", item[2])]


# Optimizers do better what Keras does there: tests/utils/test_keras_private.py sees that Keras still calls them.
OVERRIDDEN = {"_apply_weight_decay", "_stateful_handle_non_finite_grads"}
PUBLIC_OF_TUPLES = {"_asdict", "_fields", "_replace"}


def is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__") and name != "_"


def defined_names(tree: ast.Module) -> set[str]:
    """Functions, classes, variables, and attributes of `self`."""
    nodes = list(ast.walk(tree))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    names = {node.name for node in nodes if isinstance(node, (ast.ClassDef, *FUNCTIONS))}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.attr for node in attributes if ast.unparse(node.value) == "self"} | PUBLIC_OF_TUPLES


def private_names(tree: ast.Module) -> set[str]:
    """Private names that a file reads or sets, or asks for by `getattr` and its kind."""
    nodes = list(ast.walk(tree))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    asked = [node for node in calls if ast.unparse(node.func) in ("getattr", "hasattr", "setattr", "delattr")]
    return set(filter(is_private, names | {getattr(node.args[1], "value", None) for node in asked}))


@pytest.mark.integration
def test_private_names_of_keras_are_in_one_file():
    """They are those that no file of ours defines; and those that are in that file, whatever our files define."""
    home = Path("keras_transformers/utils/keras_private.py")
    ours = set().union(*map(defined_names, TREES.values())) - private_names(TREES[home])
    foreign = {str(path): private_names(tree) - ours for path, tree in TREES.items() if path != home}
    of_tokenizers = {"keras_transformers/text/pipelines/library.py": {"_resize_cache"}}  # that library's own file
    assert {path: names for path, names in foreign.items() if names} == of_tokenizers


@pytest.mark.integration
def test_private_methods_of_keras_that_are_called_from_their_override():
    called = set()
    for _, node in classes():
        if any(ast.unparse(base).startswith("keras.") for base in node.bases):
            attributes = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
            called |= {part.attr for part in attributes if ast.unparse(part.value) == "super()"}
    assert set(filter(is_private, called)) == OVERRIDDEN


@pytest.mark.integration
def test_no_import_of_what_is_inside_keras():
    inside = {("keras", "src"), ("tensorflow", "python"), ("tensorflow", "__internal__")}
    found = [(str(path), module) for path, tree in TREES.items() for module in imports(tree) if module[:2] in inside]
    masks = [("keras", "src", "backend", f"{verb}_keras_mask") for verb in ("get", "set")]
    ours = [("keras", "src", "backend", "common", "global_state"), *masks]
    assert found == [("keras_transformers/utils/keras_private.py", module) for module in ours]


def test_what_is_public_is_documented():
    """Public classes and functions; not methods, nor functions inside functions."""
    silent = []
    for path, tree in TREES.items():
        public = [node for node in tree.body if isinstance(node, (ast.ClassDef, *FUNCTIONS))]
        silent += [
            f"{path}:{node.lineno} {node.name}"
            for node in public
            if not node.name.startswith("_") and ast.get_docstring(node) is None
        ]
    assert not silent


@pytest.mark.integration
def test_no_paths_of_one_machine():
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    pattern = re.compile(rb"(?<![\w.$}])/(work|home/\w+|Users/\w+|tmp/venv)/")
    files = [ROOT / name for name in tracked.stdout.split("\0") if name]
    texts = {path: path.read_bytes() for path in files if path.is_file() and path != Path(__file__).resolve()}
    found = {str(path.relative_to(ROOT)) for path, text in texts.items() if b"\0" not in text and pattern.search(text)}
    assert not found


def test_what_comes_from_the_context_is_told_apart_in_one_place():
    """A cache's parts have names for it; others ask `layers.cache.parted`, not for a prefix."""
    found = [path for path in TREES if re.search(r"[\"']cross_[\"'{]", (ROOT / path).read_text(encoding="utf-8"))]
    assert [path.as_posix() for path in found] == ["keras_transformers/layers/attention/cache.py"]


def test_the_zoo_does_not_ask_for_tasks_by_name():
    """A `Kind` or a `TextTask` says what differs: a task is added without a change of the verbs."""
    known = {"zoo/scratch/text_tasks.py", "zoo/cli/finetune.py"}  # what is learned from text; the default of --task
    files = [path for path in TREES if path.parts[0] == "zoo" and (path.name[0] == "_" or len(path.parts) > 2)]
    named = [
        f"{path}:{node.lineno} {node.value!r}"
        for path in files
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.Constant) and node.value in task_names() and str(path) not in known
    ]
    assert_none(named, "ask the task's Kind, or zoo/scratch/text_tasks.py, instead of its name")
