import os
import stat
import subprocess
import sys
import textwrap

import pytest

from keras_transformers.checkpoints.folder import atomic_folder


def write(folder, content):
    with atomic_folder(folder) as temporary:
        (temporary / "config.json").write_text(content)


def test_a_new_folder_and_its_replacement(tmp_path):
    target = tmp_path / "deep" / "model"
    write(target, "old")
    (target / "stale.json").write_text("")
    write(target, "new")
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("config.json", "new")]
    assert list(target.parent.iterdir()) == [target]


def test_an_empty_folder_is_replaced(tmp_path):
    (tmp_path / "model").mkdir()
    write(tmp_path / "model", "new")
    assert (tmp_path / "model" / "config.json").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_an_interrupted_write_leaves_the_old_folder(tmp_path, error):
    write(tmp_path / "model", "old")
    with pytest.raises(error), atomic_folder(tmp_path / "model") as temporary:
        (temporary / "config.json").write_text("ne")
        raise error
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "config.json").read_text() == "old"


def test_a_killed_process_leaves_the_old_folder(tmp_path):
    write(tmp_path / "model", "old")
    script = """
        import os, signal, sys
        from keras_transformers.checkpoints.folder import atomic_folder
        with atomic_folder(sys.argv[1]) as temporary:
            (temporary / "config.json").write_text("ne")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / "model"], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    assert (tmp_path / "model" / "config.json").read_text() == "old"


def test_a_failed_replacement_puts_the_old_folder_back(tmp_path, monkeypatch):
    write(tmp_path / "model", "old")
    with pytest.raises(OSError), atomic_folder(tmp_path / "model") as temporary:
        temporary.rename(tmp_path / "elsewhere")
    assert (tmp_path / "model" / "config.json").read_text() == "old"


def test_other_peoples_files_are_not_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for target in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(ValueError, match=r"holds no config\.json, so it is not replaced"):
            write(target, "new")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_link_stays_a_link(tmp_path):
    write(tmp_path / "model-1", "old")
    (tmp_path / "latest").symlink_to(tmp_path / "model-1")
    write(tmp_path / "latest", "new")
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "model-1" / "config.json").read_text() == "new"


def test_permissions_are_those_of_any_new_folder(tmp_path):
    write(tmp_path / "model", "new")
    os.mkdir(tmp_path / "plain")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "plain")}
    assert len(modes) == 1
