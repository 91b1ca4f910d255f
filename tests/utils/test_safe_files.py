"""Files that are written whole or not at all; locks of folders are tested with those who hold them."""

import errno

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
