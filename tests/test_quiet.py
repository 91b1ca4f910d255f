"""TensorFlow's start-up messages, and only they, are kept off stderr, whoever imports TensorFlow."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest
from command_line import python

from keras_transformers.quiet import QuietImport, use_onednn, without_start_up_messages


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "import zoo; zoo.load('mini_bert_en').predict(['He [MASK] the door.'])",
        "import numpy as np; from keras_transformers.layers import Attention; Attention(2)(np.ones((1, 3, 8)))",
        "import zoo; import tensorflow as tf; tf.zeros(1)",
        "import zoo; zoo.load('mini_bert_en'); import sys; assert 'tensorflow' not in sys.modules",
    ],
)
def test_a_program_sees_nothing_of_tensorflow(program, monkeypatch):
    if "not in sys.modules" in program:
        monkeypatch.setenv("KERAS_BACKEND", "jax")
        pytest.importorskip("jax")
    done = python("-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_service_may_have_closed_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with without_start_up_messages():
        assert sys.stderr is None


START = """
import os, sys
from keras_transformers.quiet import without_start_up_messages
with without_start_up_messages():
    os.write(2, b"I0000 00:00:1.5 1 port.cc:153] oneDNN is on.\\nF0000 00:00:1.5 1 guard.cc:9] no AVX\\n")
    os.write(2, b"E0000 00:00:1.5 1 cuda_fft.cc:467] Unable to register cuFFT factory: Attempting\\n")
    print("WARNING: as Python gives it", file=sys.stderr)
    if len(sys.argv) > 1:
        os.abort()
os.write(2, b"I0000 after the start\\n")
"""


@pytest.mark.parametrize("end", [(), ("abort",)])
def test_errors_at_the_start_are_shown_even_those_that_end_the_process(end):
    done = python("-c", START, *end)
    shown = ["F0000 00:00:1.5 1 guard.cc:9] no AVX", "WARNING: as Python gives it"]
    if end:  # which flushes nothing of Python's
        assert done.returncode < 0 and done.stderr.splitlines()[:1] == shown[:1]
    else:
        assert (done.returncode, done.stderr.splitlines()) == (0, [*shown, "I0000 after the start"])


def test_where_python_cannot_be_started_the_messages_come(monkeypatch):
    """`sys.executable` is the program itself, which must not be started once more."""
    monkeypatch.setattr(sys, "executable", "/opt/app/uwsgi")
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    with without_start_up_messages():
        pass


FALSE_TENSORFLOW = """
import os, pathlib, sys, tempfile
folder = pathlib.Path(tempfile.mkdtemp(), "tensorflow")
folder.mkdir()
(folder / "__init__.py").write_text('''
import os
os.write(2, b"I0000 00:00:1.5 1 port.cc:153] oneDNN is on.\\\\n")
class config:
    list_physical_devices = staticmethod(lambda: os.write(2, b"I0000 00:00:1.5 1 devices\\\\n"))
if "broken" in os.environ:
    raise ImportError("libtensorflow.so is missing")
''')
sys.path.insert(0, str(folder.parent))
{before}
import tensorflow
print(os.environ.get("TF_CPP_MIN_LOG_LEVEL"), len(sys.meta_path) - finders)
"""


def imported(before: str, **environment: str):
    """What a program that imports a small module of that name prints; with `before` in front of it."""
    before = f"os.environ |= {environment}\nfinders = len(sys.meta_path)\n{before}"
    return python("-c", FALSE_TENSORFLOW.format(before=before))


@pytest.mark.parametrize("package", ["zoo", "keras_transformers"])
def test_the_first_import_after_ours_is_quiet_and_leaves_no_finder(package):
    done = imported(f"import {package}")
    assert (done.stdout, done.stderr) == ("3 0\n", "")
    looked_for = f"import {package}, importlib.util; assert importlib.util.find_spec('tensorflow').origin"
    assert imported(looked_for).stderr == ""


@pytest.mark.integration
def test_what_the_user_has_set_or_imported_stays():
    for level, shown in (("0", True), ("1", False)):
        done = imported("import zoo", TF_CPP_MIN_LOG_LEVEL=level)
        assert (done.stdout, "oneDNN is on" in done.stderr) == (f"{level} 0\n", shown)
    done = imported("import tensorflow, zoo")
    assert done.stdout == "None 0\n" and "oneDNN is on" in done.stderr


def test_an_error_of_the_import_is_shown():
    done = imported("import zoo", broken="1")
    assert done.returncode == 1 and done.stderr.endswith("ImportError: libtensorflow.so is missing\n")


def test_other_modules_and_missing_ones_are_found_as_ever(monkeypatch):
    assert QuietImport.find_spec("keras") is None
    monkeypatch.setattr(sys, "meta_path", [QuietImport])
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert QuietImport.find_spec("tensorflow") is None and sys.meta_path == [QuietImport]
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    monkeypatch.setattr(sys, "meta_path", [])
    QuietImport.install()
    assert sys.meta_path == []


@pytest.mark.parametrize(
    "given, machine, expected", [(None, "x86_64", "1"), ("0", "x86_64", "0"), (None, "arm64", None)]
)
def test_onednn_is_on_where_the_user_has_not_said(given, machine, expected, monkeypatch, caplog):
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    if given is not None:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", given)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with caplog.at_level("INFO"):
        use_onednn()
        use_onednn()
    assert os.environ.get("TF_ENABLE_ONEDNN_OPTS") == expected
    assert len(caplog.records) == (expected == "1" and given is None)
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
