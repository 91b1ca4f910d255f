"""`benchmarks/shakespeare.py`: the split, the curve, the table, and the peer in torch."""

from __future__ import annotations

import json
import math

import pytest
from benchmark_modules import imported

shakespeare, peer, watched = map(imported, ("shakespeare", "shakespeare_torch", "watched"))


def test_the_last_tenth_is_held_out(tmp_path):
    train, valid = shakespeare.split("ROMEO:\nSoft!" * 100, tmp_path)
    assert (len(train.read_text()), len(valid.read_text())) == (1080, 120)
    assert train.read_text() + valid.read_text() == "ROMEO:\nSoft!" * 100


def test_a_curve_takes_whole_lines_once(tmp_path):
    log, curve = tmp_path / "metrics.jsonl", []
    shakespeare.follow(log, curve, watched.Seen(1.0, 2.0))
    line = json.dumps({"step": 250, "loss_by_character": 2.5})
    log.write_text(f"{line}\n{line[:10]}")
    for second in (3.0, 4.0):
        shakespeare.follow(log, curve, watched.Seen(second, 2 * second))
    log.write_text(f"{line}\n{line}\n")
    shakespeare.follow(log, curve, watched.Seen(5.0, 10.0))
    assert curve == [shakespeare.Point(3.0, 6.0, 250, 2.5), shakespeare.Point(5.0, 10.0, 250, 2.5)]


def test_the_table_has_ratios_to_torch():
    def run(loss, seconds):
        curve = [shakespeare.Point(part * seconds, part * seconds, int(1000 * part), loss) for part in (0.5, 1.0)]
        return shakespeare.Run(loss, 2 * seconds, seconds, curve)

    lines = list(shakespeare.table({"torch": [run(1.9, 60.0)], "gpt2": [run(1.8, 30.0), run(1.6, 60.0)]}))
    assert lines[2:] == [
        "| torch | 1000 | 1.9000 | 1.00 | 1.00 | 2.00 | 60.0 | 1.00 |",
        "| gpt2 | 1000 | 1.7000 ± 0.1414 | 0.75 | 0.75 | 1.50 | 45.0 | 0.75 |",
    ]


def test_commands_share_sizes_and_text(tmp_path):
    paths = tmp_path / "train.txt", tmp_path / "valid.txt"
    commands = shakespeare.commands(paths, 2000, 1, tmp_path / "out", 0.01)
    assert list(commands) == ["torch", "gpt2", "llama", "chosen"]
    assert all(set(paths) <= set(command) for command in commands.values())
    gpt2 = dict(zip(commands["gpt2"][3::2], commands["gpt2"][4::2], strict=True))
    names = ("--layers", "--heads", "--hidden-dim", "--max-length", "--batch-size", "--steps", "--learning-rate")
    assert [gpt2[name] for name in names] == [4, 4, 128, 64, 12, 2000, 1e-3]


def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match=r"ended with 3:\nthe reason"):
        watched.watched(["-c", "print('the reason'); raise SystemExit(3)"], lambda seen: None)


@pytest.mark.integration
def test_memory_and_time_of_a_process():
    curve = []
    work = "import time; held = bytearray(80 << 20)\nwhile time.process_time() < 0.4: pass"
    lines, total = watched.watched(["-c", f"{work}\nprint(len(held))"], curve.append, every=0.02)
    assert lines == [str(80 << 20)] and total.wall >= total.processor - 0.05 >= 0.25
    assert 80 <= max(seen.own for seen in curve) <= max(seen.resident for seen in curve) < 200
    assert 0.2 < curve[-1].processor <= total.processor + 0.05


@pytest.mark.parity
def test_the_peer_learns(data_dir, tmp_path):
    """In processes of its own, where torch waits quietly."""
    pytest.importorskip("torch")
    assert sum(weight.numel() for weight in peer.Torch("To be").weights) == 804_096  # nanoGPT: 0.80M
    text = (data_dir / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    train, valid = shakespeare.split(text, tmp_path)
    valid.write_text(text[-2000:], encoding="utf-8")
    last = []
    for steps in (1, 40):
        log = tmp_path / f"{steps}.jsonl"
        lines, _ = watched.watched([peer.__file__, train, valid, log, "--steps", steps], lambda seen: None, threads=1)
        last.append(json.loads(lines[-1])[shakespeare.FINAL])
        assert json.loads(log.read_text())["step"] == steps
    assert abs(last[0] - math.log(65)) < 0.2 and last[1] < last[0] - 0.5


@pytest.mark.slow
@pytest.mark.parity
def test_a_tiny_comparison(data_dir, tmp_path):
    text = (data_dir / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")[:60_000]
    found = shakespeare.compare(shakespeare.split(text, tmp_path), [1], 8, 1, tmp_path)
    assert {name: len(runs) for name, runs in found.items()} == dict.fromkeys(("torch", "gpt2", "llama", "chosen"), 1)
    assert found["torch"][0].curve[-1].step == found["gpt2"][0].curve[-1].step == 8
    for [run] in found.values():
        assert 1 < run.loss < 4.5 and 0 < run.curve[-1].processor <= run.processor + 0.1
