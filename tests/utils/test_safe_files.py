"""Files that are written whole or not at all; locks of folders are tested with those who hold them."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from keras_transformers.utils.safe_files import full_disk_as_error, no_room_as_error, replace_file


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    replace_file(path, "old")

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError):
        replace_file(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"] and path.read_text() == "old"


def test_a_file_is_replaced_whole_or_stays(tmp_path, monkeypatch):
    file, link = tmp_path / "page.html", tmp_path / "link.html"
    file.write_text("old")
    link.symlink_to(file)
    with pytest.raises(UnicodeEncodeError):
        replace_file(file, "new \ud800")
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        replace_file(file, "new")
    assert file.read_text() == "old"
    monkeypatch.undo()

    replace_file(link, "new")

    assert (file.read_text(), link.is_symlink()) == ("new", True)
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "link.html"}


def test_what_is_no_file_is_written_to(tmp_path):
    """Such as /dev/stdout, a pipe or a device, which stays what it is."""
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    replace_file(pipe, "content")
    assert os.read(reader, 100) == b"content" and pipe.is_fifo()
    os.close(reader)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "x"), r"run cannot be written: there is no space left for it\. Go on\."),
        (OSError(errno.EFBIG, "x"), r"there is no space left for it"),
        (PermissionError(errno.EACCES, "Permission denied"), r"run cannot be written: .*Permission denied\. Go on\."),
    ],
)
def test_errors_of_writing_say_what_is_kept(error, message):
    with pytest.raises(ValueError, match=message), full_disk_as_error("run", "Go on."):
        raise error


def test_two_processes_write_one_file(tmp_path, monkeypatch):
    """Each writes a file of its own, and the last one to end stands."""
    fsync = os.fsync

    def other(handle):
        fsync(handle)
        monkeypatch.setattr("os.fsync", fsync)
        replace_file(tmp_path / "page.html", "other")
        assert (tmp_path / "page.html").read_text() == "other"
        monkeypatch.undo()

    monkeypatch.setattr("os.fsync", other)
    replace_file(tmp_path / "page.html", "one")
    assert (tmp_path / "page.html").read_text() == "one" and len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_process_left_is_removed(tmp_path):
    script = """
import os, signal, sys
from pathlib import Path
from keras_transformers.utils.safe_files import replace_file
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
replace_file(Path(sys.argv[1]), "killed")
"""
    path = tmp_path / "a.json"
    (other := tmp_path / ".b.json.partial-1").touch()
    assert subprocess.run([sys.executable, "-c", script, path], check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 2

    replace_file(path, "{}")

    assert path.read_text() == "{}" and sorted(tmp_path.iterdir()) == [other, path]


def test_many_threads_write_one_file(tmp_path):
    path, contents = tmp_path / "a.json", [str(number) * 1000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            list(pool.map(lambda content: replace_file(path, content), contents))
            assert path.read_text() in contents and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_with_the_file_and_other_errors_as_they_are():
    message = r"page cannot be written: there is no space left for it\. Make room"
    with pytest.raises(ValueError, match=message), no_room_as_error("page"):
        raise OSError(errno.ENOSPC, "x")
    with pytest.raises(PermissionError), no_room_as_error("page"):
        raise PermissionError(errno.EACCES, "x")
