"""The worker processes that train one model together, read from the environment that a scheduler sets."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}, '
    "with the index of this process"
)
ADDRESS = re.compile(r"[^\s/:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")
FIRST_PORT, PORTS = 15_000, 15_000  # below the ports that Linux gives to outgoing connections


class Cluster(NamedTuple):
    """The worker processes, and which of them this one is. The first is the chief: it writes files.

    Attributes:
        workers: Addresses, `host:port`.
        index: Index of this process.
    """

    workers: tuple[str, ...]
    index: int  # type: ignore[assignment]  # hides the method of tuples, which a cluster does not need


def read_cluster(environment: Mapping[str, str] = os.environ) -> Cluster | None:
    """Read the cluster from `TF_CONFIG`, or else from the variables that Slurm's `srun` sets.

    TensorFlow's own `SlurmClusterResolver` fails where nodes have no GPUs (tensorflow#56894).

    Args:
        environment: Variables by name.

    Returns:
        The cluster; None if no variable names one.

    Raises:
        ValueError: The variables do not describe a cluster of workers, or not this process.

    Example:

    >>> tasks = {"SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_TASKS_PER_NODE": "2,1", "SLURM_PROCID": "2"}
    >>> read_cluster({**tasks, "SLURM_STEP_NODELIST": "node[08-09]", "SLURM_JOB_ID": "7"})
    Cluster(workers=('node08:15007', 'node08:15008', 'node09:15007'), index=2)
    """
    if environment.get("TF_CONFIG"):
        return _from_tf_config(environment["TF_CONFIG"])
    if environment.get("SLURM_STEP_NUM_TASKS"):
        return _from_slurm(environment)
    return None


def _from_tf_config(text: str) -> Cluster | None:
    try:
        config = json.loads(text)
        jobs, task = config.get("cluster") or {}, config.get("task") or {}
        if not jobs:
            return None
        kind, index = task["type"], task["index"]
        unknown = sorted(jobs.keys() - {"chief", "worker"})
        chiefs, workers = ([str(address) for address in _addresses(jobs, name)] for name in ("chief", "worker"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"Received TF_CONFIG={text[:500]!r} ({error!r}); expected JSON such as {EXAMPLE}.") from None
    if unknown:
        raise ValueError(
            f"Received TF_CONFIG with jobs {unknown}; expected workers, and a chief among them or not. Leave out "
            "parameter servers and evaluators: here all workers hold the model and step together."
        )
    addresses = (*chiefs, *workers)
    wrong = [address for address in addresses if not ADDRESS.fullmatch(address)]
    if wrong or len(set(addresses)) < len(addresses) or len(chiefs) > 1:
        raise ValueError(f"Received TF_CONFIG with addresses {addresses}; expected a different host:port for each.")
    own = {"chief": chiefs, "worker": workers}.get(kind, [])
    if not isinstance(index, int) or not 0 <= index < len(own):
        raise ValueError(
            f"Received TF_CONFIG with task {kind!r} {index!r}, with {len(own)} of that type in its cluster; expected "
            "one of them, with an index from 0."
        )
    return Cluster(addresses, index + len(chiefs) if kind == "worker" else index)


def _addresses(jobs: Mapping[str, Any], name: str) -> list:
    """Return the addresses of a job: from a list, or from a dict by index, as some write it."""
    addresses = jobs.get(name, [])
    return list(addresses.values()) if isinstance(addresses, dict) else list(addresses)


def _from_slurm(environment: Mapping[str, str]) -> Cluster:
    names = ("SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "SLURM_PROCID", "SLURM_JOB_ID")
    if missing := [name for name in names if not environment.get(name)]:
        raise ValueError(
            f"Received SLURM_STEP_NUM_TASKS={environment['SLURM_STEP_NUM_TASKS']} without {missing}; expected all that "
            "`srun` sets. Start each worker with srun, or write TF_CONFIG."
        )
    try:
        hosts, counts = _hosts(environment[names[0]]), _counts(environment[names[1]])
        total, index, job = (int(environment[name]) for name in ("SLURM_STEP_NUM_TASKS", *names[2:]))
        first = FIRST_PORT + job % (PORTS - max(counts))
        workers = [f"{host}:{first + i}" for host, count in zip(hosts, counts, strict=True) for i in range(count)]
        if len(workers) != total or not 0 <= index < total:
            raise ValueError(f"{len(workers)} workers for {total} tasks")
        if hosts[int(environment.get("SLURM_NODEID", hosts.index(_host(workers[index]))))] != _host(workers[index]):
            raise ValueError("tasks are not in blocks: expected srun --distribution=block")
    except (ValueError, IndexError) as error:
        values = {name: environment[name] for name in ("SLURM_STEP_NUM_TASKS", *names)}
        raise ValueError(
            f"Received {values} ({error}); expected hosts and tasks as `srun` names them. Else write TF_CONFIG."
        ) from None
    return Cluster(tuple(workers), index)


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def _hosts(text: str) -> list[str]:
    """Return the hosts of a Slurm list: `login,node[01-02,7]` names four."""
    hosts: list[str] = []
    for item in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text):
        parts = re.split(r"\[([^\]]*)\]", item)  # text, numbers, text, numbers, ...
        choices = [_numbers(part) if place % 2 else [part] for place, part in enumerate(parts)]
        hosts += map("".join, itertools.product(*choices))
    return hosts


def _numbers(text: str) -> list[str]:
    """Return the numbers of a Slurm range, with its leading zeros."""
    numbers = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        numbers += [f"{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return numbers


def _counts(text: str) -> list[int]:
    """Return the number of tasks of each node: `2(x3),1` is 2, 2, 2, 1."""
    counts = []
    for item in text.split(","):
        count, _, times = item.rstrip(")").partition("(x")
        counts += [int(count)] * int(times or 1)
    return counts
