"""How much memory is left: of the machine, and of the control groups of this process."""

from __future__ import annotations

import pytest

from keras_transformers.utils import memory
from keras_transformers.utils.memory import available_memory, check_memory

MEMINFO = "MemTotal:  24000 kB\nMemFree:  1000 kB\nMemAvailable:  20000 kB\n"


def write(root, files: dict[str, str]):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_what_the_machine_has(tmp_path):
    assert available_memory(write(tmp_path, {"proc/meminfo": MEMINFO})) == 20000 * 1024


@pytest.mark.parametrize("group", ["", "app/worker/"])
def test_a_container_of_version_2_may_leave_less(tmp_path, group):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": f"0::/{group.rstrip('/')}\n",
        f"sys/fs/cgroup/{group}memory.max": "5000000\n",
        f"sys/fs/cgroup/{group}memory.current": "3000000\n",
        f"sys/fs/cgroup/{group}memory.stat": "anon 7\nactive_file 200000\ninactive_file 100000\n",
    }
    assert available_memory(write(tmp_path, files)) == 2_300_000


def test_the_group_around_a_group_limits_it_too(tmp_path):
    folder = "sys/fs/cgroup/"
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/app/worker\n",
        f"{folder}app/worker/memory.max": "max\n",
        f"{folder}app/worker/memory.current": "10\n",
        f"{folder}app/memory.max": "1000\n",
        f"{folder}app/memory.current": "900\n",
    }
    assert available_memory(write(tmp_path, files)) == 100


def test_a_container_of_version_1_sees_its_group_as_the_root(tmp_path):
    folder = "sys/fs/cgroup/memory/"
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "9:cpu:/docker/1\n4:memory:/docker/1\n0::/\n",
        f"{folder}memory.limit_in_bytes": "5000000\n",
        f"{folder}memory.usage_in_bytes": "3000000\n",
        f"{folder}memory.stat": "active_file 1\ntotal_active_file 30\ntotal_inactive_file 20\n",
    }
    assert available_memory(write(tmp_path, files)) == 2_000_050


def test_this_machine_has_some():
    assert available_memory() is None or available_memory() > 10**7


def test_only_clearly_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    check_memory(1000, "loading x", "Take y.")
    with pytest.raises(ValueError, match=r"loading x takes at least .* Take y\."):
        check_memory(1001, "loading x", "Take y.")
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(10**15, "loading x", "Take y.")
