"""For tests and docstring examples alike: names that examples use, and the rule that CI skips nothing."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

gc.set_threshold(50_000, 50, 1_000)  # traced graphs are millions of objects, which a collection walks through


def pytest_configure(config: pytest.Config):
    """Quick tests run a graph once or twice: to optimise it takes longer than it saves. The others do as users do."""
    starts_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if "not slow" in config.option.markexpr and not starts_workers and not os.environ.get("BLOCK_TENSORFLOW"):
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict):
    doctest_namespace["np"] = np


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where everything must run: {report.longrepr}"
