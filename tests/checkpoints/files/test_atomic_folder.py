import itertools
import json
import os
import shutil
import stat
from pathlib import Path

import processes
import pytest
from faults import at_step

from keras_transformers.checkpoints.files import atomic_folder as folders
from keras_transformers.checkpoints.files.atomic_folder import atomic_folder, check_target, left_behind

CODE = (folders.__file__, shutil.__file__)
MODES = ("exchange", "renames")


def write(folder, content):
    with atomic_folder(folder) as temporary:
        (temporary / "config.json").write_text(json.dumps({"model_type": content}))
        (temporary / "vocab.txt").write_text(content)


def read(folder):
    """What `write` wrote there, all of it."""
    content = json.loads((folder / "config.json").read_text())["model_type"]
    assert {path.name: path.read_text() for path in folder.iterdir() if path.suffix == ".txt"} == {"vocab.txt": content}
    return content


def interrupt():
    raise KeyboardInterrupt


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    """Systems that can exchange two folders in one step, and those that cannot."""
    if request.param == "renames":
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    return request.param


def test_a_new_folder_and_its_replacement(tmp_path, mode):
    target = tmp_path / "deep" / "model"
    write(target, "old")
    (target / "merges.txt").write_text("stale")
    write(target, "new")
    assert read(target) == "new"
    assert list(target.parent.iterdir()) == [target]


def test_an_empty_folder_is_replaced(tmp_path, mode):
    (tmp_path / "model").mkdir()
    write(tmp_path / "model", "new")
    assert read(tmp_path / "model") == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_an_interrupted_write_leaves_the_old_folder(tmp_path, error):
    write(tmp_path / "model", "old")
    with pytest.raises(error), atomic_folder(tmp_path / "model") as temporary:
        (temporary / "config.json").write_text("ne")
        raise error
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert read(tmp_path / "model") == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_disk_leaves_the_old_folder(tmp_path):
    write(tmp_path / "model", "old")
    message = r"model cannot be written: there is no space left for it\. .* unchanged: make room"
    with pytest.raises(ValueError, match=message), atomic_folder(tmp_path / "model") as temporary:
        (temporary / "config.json").symlink_to("/dev/full")
        (temporary / "config.json").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert read(tmp_path / "model") == "old"


@pytest.mark.integration
def test_interrupted_at_every_step(tmp_path, mode):
    """Afterwards the old or the new folder is there, whole, and the next save works."""
    target = tmp_path / "model"
    write(target, "0")
    for step in itertools.count(1):
        with at_step(step, CODE, interrupt) as left:
            try:
                write(target, str(step))
            except (KeyboardInterrupt, OSError):  # which `shutil.rmtree` makes of it between two of its lines
                assert left[0] == 0
        assert read(left_behind(target) or target) in (str(step - 1), str(step)), step
        write(target, str(step))
        assert read(target) == str(step)
        if left[0] > 0:
            break
    assert step > 50


KILLED = """
import itertools, os, shutil, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from faults import at_step
from keras_transformers.checkpoints.files import atomic_folder as folders
assert "keras" not in sys.modules
target, mode = Path(sys.argv[2]), sys.argv[3]
if mode == "renames":
    folders._exchanged = lambda *_: False

def write(content):
    with folders.atomic_folder(target) as temporary:
        (temporary / "config.json").write_text('{"model_type": "bert"}')
        (temporary / "vocab.txt").write_text(content)

def killed_at(step):
    child = os.fork()
    if not child:
        with at_step(step, (folders.__file__, shutil.__file__), lambda: os.kill(os.getpid(), signal.SIGKILL)):
            write("new")
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL

write("old")
missing = 0
for step in itertools.count(1):
    was_killed = killed_at(step)
    missing += not target.exists()
    whole = folders.left_behind(target) or target
    assert {path.name for path in whole.iterdir()} == {"config.json", "vocab.txt"}, step
    assert (whole / "vocab.txt").read_text() in ("old", "new"), step
    try:
        with folders.atomic_folder(target):
            raise KeyError
    except KeyError:
        assert (target / "vocab.txt").read_text() in ("old", "new"), step
    write("old")
    assert list(target.parent.iterdir()) == [target], step
    if not was_killed:
        break
print(step, missing)
"""


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("mode", MODES)
def test_killed_at_every_step(tmp_path, mode):
    """As above; the next save brings a missing folder back, even if it fails, and removes what the dead left."""
    steps, missing = map(int, processes.run(KILLED, str(tmp_path / "model"), mode).split())
    assert steps > 50
    assert (missing > 0) == (mode == "renames")


def test_a_failed_replacement_puts_the_old_folder_back(tmp_path, mode):
    write(tmp_path / "model", "old")
    with pytest.raises(OSError), atomic_folder(tmp_path / "model") as temporary:
        temporary.rename(tmp_path / "elsewhere")
    assert read(tmp_path / "model") == "old"


def test_two_that_write_to_one_place(tmp_path, mode):
    """Neither takes the other's files for those of the dead; who is last stays."""
    target = tmp_path / "model"
    with atomic_folder(target) as first:
        (first / "config.json").write_text('{"model_type": "first"}')
        write(target, "second")
        assert read(target) == "second"
        (first / "vocab.txt").write_text("first")
    assert read(target) == "first"
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_put_there_during_the_write_is_not_replaced(tmp_path, mode):
    write(tmp_path / "model", "old")
    with (
        pytest.raises(ValueError, match=r"'notes\.md'.*is not replaced"),
        atomic_folder(tmp_path / "model") as temporary,
    ):
        (temporary / "config.json").write_text("{}")
        (tmp_path / "model" / "notes.md").touch()
    assert contents(tmp_path) == {"model/config.json", "model/vocab.txt", "model/notes.md"}


def fill(folder: Path, names: str) -> Path:
    for name in names.split():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"model_type": "bert"}' if name == "config.json" else "")
    return folder


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "names, marker, named",
    [
        ("config.json package.json src/index.js", "config.json", r"'package\.json', 'src'"),
        ("config.json model.safetensors tokenizer.json .git/HEAD", "config.json", r"'\.git'"),
        ("config.json model.safetensors notes.md", "config.json", r"'notes\.md'"),
        ("config.json README.md", "config.json", r"'README\.md'"),
        ("config.json tokenizer.json/mine", "config.json", r"'tokenizer\.json'"),
        ("config.json a b c d e f g", "config.json", "'a', 'b', 'c', 'd', 'e' and 2 more"),
        ("saved_model.pb variables/variables.index main.py", "saved_model.pb", r"'main\.py'"),
        ("saved_model.pb variables/notes.txt", "saved_model.pb", r"'variables/notes\.txt'"),
        ("saved_model.pb assets/mine.txt 2/saved_model.pb", "saved_model.pb", r"'2', 'assets/mine\.txt'"),
    ],
)
def test_a_folder_that_holds_more_than_a_save_writes_is_refused(tmp_path, names, marker, named):
    folder = fill(tmp_path / "mine", names)
    before = contents(folder)
    with pytest.raises(ValueError, match=named + ".*is not replaced"), atomic_folder(folder, marker):
        pytest.fail("written")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "names, marker",
    [
        ("config.json", "config.json"),
        ("config.json model-00001-of-00002.safetensors model.safetensors.index.json special_tokens_map.json "
         "spiece.model source.spm target.spm tokenizer_config.json generation_config.json vocab.json", "config.json"),
        ("config.json pytorch_model.bin vocab.txt", "config.json"),
        ("saved_model.pb fingerprint.pb variables/variables.index variables/variables.data-00000-of-00001 "
         "assets.extra/tf_serving_warmup_requests", "saved_model.pb"),
    ],
)  # fmt: skip
def test_what_a_save_writes_is_replaced(tmp_path, names, marker):
    with atomic_folder(fill(tmp_path / "mine", names), marker) as temporary:
        (temporary / marker).write_text("new")
    assert contents(tmp_path / "mine") == {marker}


@pytest.mark.parametrize("config", ['{"port": 8080}', '{"mod', "[]", '"model_type"', b"\xff", "[" * 200_000])
def test_another_programs_config_is_refused(tmp_path, config):
    (tmp_path / "config.json").write_bytes(config if isinstance(config, bytes) else config.encode())
    with pytest.raises(ValueError, match=r"config\.json .*no model.*is not replaced"):
        check_target(tmp_path)


def test_other_peoples_files_are_not_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"holds no config\.json, so it is not replaced"):
        write(tmp_path, "new")
    with pytest.raises(ValueError, match=r"holds no config\.json, so it is not replaced"):
        write(tmp_path / "thesis.tex", "new")
    with pytest.raises(ValueError, match=r"thesis\.tex is a file"):
        write(tmp_path / "thesis.tex" / "deep" / "model", "new")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_the_working_directory_and_the_home_folder_are_refused(tmp_path, monkeypatch):
    """Even where they are empty or hold a model: the shell would stay behind in a folder that is gone."""
    for name in ("here", "home"):
        write(tmp_path / name, "old")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in (".", tmp_path / "here", "../here", tmp_path / "home"):
        with pytest.raises(ValueError, match="is not replaced: give a folder in it"):
            check_target(folder)
    check_target("model")


def test_places_that_cannot_be_written_are_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(ValueError, match="does not allow to write"):
        check_target(tmp_path / "deep" / "model")
    monkeypatch.undo()
    (tmp_path / "volume").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(ValueError, match="is a mount point, so it is not replaced: give a folder in it"):
        check_target(tmp_path / "volume")


def test_links(tmp_path):
    write(tmp_path / "model-1", "old")
    (tmp_path / "latest").symlink_to(tmp_path / "model-1")
    write(tmp_path / "latest", "new")
    assert (tmp_path / "latest").is_symlink()
    assert read(tmp_path / "model-1") == "new"
    (tmp_path / "project").symlink_to(fill(tmp_path / "elsewhere", "config.json index.js"))
    with pytest.raises(ValueError, match=r"'index\.js'"):
        write(tmp_path / "project", "new")
    (tmp_path / "model-1" / "tokenizer.json").symlink_to(tmp_path / "elsewhere" / "index.js")
    with pytest.raises(ValueError, match=r"'tokenizer\.json'"):
        write(tmp_path / "model-1", "new")


def test_permissions_are_those_of_any_new_folder(tmp_path):
    write(tmp_path / "model", "new")
    os.mkdir(tmp_path / "plain")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "plain")}
    assert len(modes) == 1


def test_a_folder_that_no_system_makes_is_told_before_the_work(tmp_path):
    """The temporary folder beside it has a longer name."""
    with pytest.raises(ValueError, match=r"there can be no folder .*: File name too long\. Give another folder"):
        check_target(tmp_path / ("a" * 240))
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a file system of Linux")
def test_a_file_system_that_refuses_after_it_allowed():
    with pytest.raises(ValueError, match="there can be no folder '/proc/model'"):
        check_target("/proc/model")
