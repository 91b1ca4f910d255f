"""For tests and docstring examples alike: names that examples use, and what CI asks of every test.

In CI a test that is skipped fails, and so does one that costs much and has no marker that says so.
"""

from __future__ import annotations

import gc
import os
import re
import time

import numpy as np
import pytest

COSTLY = ("integration", "slow", "parity", "data", "ray")
MOST = 10.0  # seconds of processor time of a test without a marker: a slow, busy CPU takes twice as long as an idle one
MOST_END_TO_END = 30.0  # on a fast CPU that is idle, most take 4, the longest 7.4; on a busy one 14
SPENT = pytest.StashKey[float]()
# Processor time of the garbage collector, which no test is to blame for, and objects that it leaves alone.
collected = {"since": 0.0, "seconds": 0.0, "frozen": 0}
MOST_FROZEN = 3_000_000  # objects between collections of all garbage: some 500 MB

if "PYTEST_XDIST_WORKER" in os.environ:  # a worker for each core: threads of their own would wait for each other's
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
if os.environ.pop("CI", ""):  # pytest shows differences whole there, which takes an hour for large files
    os.environ["STRICT_TESTS"] = "1"
gc.set_threshold(50_000, 50, 1_000)  # traced graphs are millions of objects, which a collection walks through


# XLA compiles in a third of the time; tests' processes of their own inherit it.
QUICK_XLA = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)


def pytest_configure(config: pytest.Config):
    """Most tests run a graph once or twice: to optimise it takes longer than it saves. Slow ones do as users do."""
    gc.callbacks.append(_time_collection)
    if not re.search("not .*slow", config.option.markexpr):
        return
    os.environ.setdefault("XLA_FLAGS", QUICK_XLA)
    starts_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if not starts_workers and not os.environ.get("BLOCK_TENSORFLOW"):
        import keras_transformers  # noqa: F401, I001  TensorFlow starts without its messages
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def _time_collection(phase: str, info: dict):
    if phase == "start":
        collected["since"] = time.process_time()
    else:
        collected["seconds"] += time.process_time() - collected["since"]


TRACING = (  # their examples trace graphs
    "keras_transformers/analysis/signals/gradient_range.py",
    "keras_transformers/tasks/",
    "keras_transformers/data/sources/text_stream.py",
    "keras_transformers/data/sources/token_stream.py",
    "keras_transformers/data/sources/translation_stream.py",
    "zoo/loading/load.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]):
    """Leave in the quick set the parameters that `integration(quick=[...])` names; mark the examples of tasks."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.nodeid.startswith(TRACING):
            item.add_marker("integration")
        parameters = getattr(getattr(item, "callspec", None), "id", None)
        for mark in [mark for mark in item.own_markers if mark.name == "integration"]:
            if parameters in mark.kwargs.get("quick", ()):
                item.own_markers.remove(mark)


def pytest_collection_finish():
    """Leave what was imported out of collections of garbage."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict):
    doctest_namespace["np"] = np


def _processor_seconds() -> float:
    """Processor time of this process and of those that it has waited for, without garbage collection."""
    return sum(os.times()[:4]) - collected["seconds"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item):
    start = _processor_seconds()
    yield
    item.stash[SPENT] = _processor_seconds() - start


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None):
    """After a file, collect its garbage and let later collections leave alone what stays, as the traced graphs do.

    They would walk through millions of objects for seconds: tests of what is freed collect, and Keras for each weight
    that it replaces. What died later would stay, 10 GB in a process of 300 files: all is collected when it grows.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        collected["frozen"] += len(gc.get_objects())
        if collected["frozen"] > MOST_FROZEN:
            gc.unfreeze()
            gc.collect()
            collected["frozen"] = 0
        gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    outcome = yield
    report = outcome.get_result()
    if not os.environ.get("STRICT_TESTS"):
        return
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where everything must run: {report.longrepr}"
    marks = {mark.name for mark in item.iter_markers()}
    most, spent = MOST_END_TO_END if "end_to_end" in marks else MOST, item.stash.get(SPENT, 0.0)
    if report.when == "call" and report.passed and spent > most and not marks.intersection(COSTLY):
        report.outcome = "failed"
        report.longrepr = (
            f"took {spent:.1f} s of processor time. Quick tests may take {most / 2:g} on an idle machine, and {most:g} "
            "on a busy one. Make it cheaper (a smaller model, one built for the module, no graph), or mark it "
            "@pytest.mark.integration: .ci/run runs those, too."
        )
