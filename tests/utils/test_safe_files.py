"""Files that are written whole or not at all; locks of folders are tested with those who hold them."""

import errno
import os

import pytest

from keras_transformers.utils.safe_files import full_disk_as_error, replace_file


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
