"""Worker processes that train together, on ports of this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 420  # seconds, on a machine that does much else


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def start_workers(arguments: Sequence[Any], workers: int, **environment: str) -> list[subprocess.Popen]:
    """A Python script with its arguments, as so many workers of one cluster; as a process by itself for one worker."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(workers)]
    variables = os.environ | {"PYTHONPATH": str(ROOT), "TF_NUM_INTRAOP_THREADS": "1"} | environment
    started = []
    for index in range(workers):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        cluster = {"TF_CONFIG": json.dumps(task)} if workers > 1 else {}
        command = [sys.executable, *map(str, arguments)]
        started.append(
            subprocess.Popen(command, env=variables | cluster, cwd=ROOT, stdout=-1, stderr=subprocess.STDOUT, text=True)
        )
    return started


def finish(workers: Sequence[subprocess.Popen]) -> list[tuple[int, str]]:
    """Exit code and output of each worker."""
    try:
        outputs = [worker.communicate(timeout=LIMIT)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    return [(worker.returncode, output) for worker, output in zip(workers, outputs, strict=True)]


def run_workers(arguments: Sequence[Any], workers: int, **environment: str) -> list[str]:
    """What each worker prints, once all have ended well."""
    ended = finish(start_workers(arguments, workers, **environment))
    for code, output in ended:
        assert code == 0, output[-3000:]
    return [output for _, output in ended]
