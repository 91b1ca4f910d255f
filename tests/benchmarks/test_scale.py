"""`benchmarks/scale.py`: the paper model beside published figures and our own graphs, and what was measured."""

from __future__ import annotations

import json
import socket
import time

import numpy as np
import pytest
from benchmark_modules import BENCHMARKS, imported

import zoo
from keras_transformers.analysis.cost.model_flops import flops_per_token
from keras_transformers.families import gpt2

paper, runs, report, scale = map(imported, ("scale_model", "scale_runs", "scale_report", "scale"))
ROWS = [json.loads(line) for line in (BENCHMARKS / "scale.jsonl").read_text(encoding="utf-8").splitlines()]
TURNS = {row["measured"]: row["turns"] for row in ROWS if row["kind"] == "machine"}
GPT3 = {"layers": 96, "width": 12_288, "vocabulary": 50_257, "length": 2048}


def test_parameters_are_those_of_the_zoo():
    assert paper.decoder_parameters(12, 768, 50_257, 1024) == zoo.describe("gpt2").parameters == 124_439_808
    assert paper.decoder_parameters(48, 1600, 50_257, 1024) == zoo.describe("gpt2_xl").parameters


@pytest.mark.integration
@pytest.mark.parametrize("length", [8, 32])
def test_flops_are_those_of_the_graph(length):
    config = gpt2(vocabulary_size=100, num_layers=3, num_heads=2, hidden_dim=16, max_length=32)
    assert sum(paper.forward_flops(3, 16, 100, length).values()) == flops_per_token(config, length)


def test_state_is_that_of_zeros_paper():
    """Rajbhandari et al. 2020, section 3.1: 16 bytes a parameter, at least 24 GB for GPT-2 with 1.5 billion."""
    assert sum(paper.state_bytes().values()) == 16
    assert sum(paper.state_bytes().values()) * 1.5e9 == 24e9
    assert 1.98e9 < sum(paper.state_bytes().values()) * zoo.describe("gpt2").parameters < 2e9


def test_flops_of_gpt3():
    """Brown et al. 2020, table D.1: 3.14e23 for 300 billion tokens, by 6 N a token: Kaplan et al. 2020."""
    flops = paper.forward_flops(**GPT3)
    passes = 1 + paper.H100.backward
    assert passes * (flops["blocks"] + flops["logits"]) * 300e9 == pytest.approx(3.14e23, rel=0.005)


def test_flops_of_rematerialised_training():
    """Narayanan et al. 2021, https://arxiv.org/abs/2104.04473, equation 3; there the output layer is not repeated."""
    layers, width, vocabulary, length = GPT3.values()
    formula = 96 * layers * width**2 * (1 + length / (6 * width) + vocabulary / (16 * layers * width))
    flops = paper.forward_flops(**GPT3)
    assert 4 * (flops["blocks"] + flops["scores"]) + 3 * flops["logits"] == pytest.approx(formula)


@pytest.mark.parametrize(("layers", "width", "heads", "saved"), [(96, 12_288, 96, 0.70), (105, 20_480, 128, 0.65)])
def test_activations_of_published_models(layers, width, heads, saved):
    """Korthikanti et al. 2022, section 5: what GPT-3 and MT-NLG save if scores are computed again."""
    machine = paper.H100._replace(**paper.PUBLISHED, logits=0)
    sizes = paper.Sizes(0, 0.0, layers, width, heads, 0)
    plain, long = (paper.kept_bytes(sizes, 2048, scheme, machine) for scheme in ("plain", "long"))
    assert plain == pytest.approx(layers * width * (34 + 5 * heads * 2048 / width))
    assert 1 - long / plain == pytest.approx(saved, abs=0.005)


def test_inputs_of_blocks_are_what_rematerialisation_keeps():
    """Korthikanti et al. 2022, table 2: 2 s b h a layer; and here the inside of the one that is at work."""
    sizes = paper.Sizes(0, 0.0, 10, 64, 4, 0)
    one = sizes._replace(layers=1)
    inside = paper.kept_bytes(one, 128, "plain")
    assert paper.kept_bytes(sizes, 128, "remat") - inside == 10 * 2 * 64


def test_epochs_of_bert():
    """Devlin et al. 2019, appendix A.2: a million steps of 256 texts of 512 tokens are about 40 of 3.3e9 words."""
    assert paper.epochs(1_000_000, 256, 512, 3.3e9) == pytest.approx(40, abs=0.5)


def test_utilisation_is_near_a_published_run():
    """nanoGPT's README and configuration: 600,000 steps of 491,520 tokens in about 4 days on 8 A100 (312e12)."""
    flops = 3 * sum(paper.forward_flops(12, 768, 50_257, 1024).values()) * 491_520 * 600_000
    assert paper.utilisation(flops, 4 * 86_400, 8, 312e12) == pytest.approx(paper.H100.utilisation, abs=0.02)


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_bytes_are_those_of_a_ring(workers):
    """Each worker in turn hands a part to the next, to add up, and then to copy."""
    values = np.random.default_rng(0).integers(0, 100, (workers, workers, 3))
    parts, sent = values.copy(), np.zeros(workers, int)
    for turn in range(2 * (workers - 1)):
        before = parts.copy()
        for worker in range(workers):
            part, following = (worker - turn) % workers, (worker + 1) % workers
            own = before[following, part] if turn < workers - 1 else 0
            parts[following, part] = own + before[worker, part]
            sent[worker] += values[worker, part].size
    assert (parts == values.sum(axis=0)).all()
    assert (4 * sent == paper.all_reduce_bytes(values[0].size, workers)).all()


@pytest.mark.integration
@pytest.mark.parametrize(("dtype", "kept"), [("mixed_bfloat16", {}), ("float32", paper.FLOAT32)])
def test_activations_are_those_of_the_graph(dtype, kept):
    width, heads, machine = 128, 4, paper.H100._replace(**kept, logits=0)
    sizes = paper.Sizes(0, 0.0, 1, width, heads, 0)
    for scheme, linear_from in (("plain", None), ("long", 1)):
        counted = runs.kept_of_block(width, heads, 256, dtype, linear_from)
        assert counted - 8 == paper.kept_bytes(sizes, 256, scheme, machine)  # a number of each norm


def test_a_node_is_faster_than_the_network():
    parameters = 1e9
    inside, outside = (paper.all_reduce_seconds(parameters, workers) for workers in (8, 16))
    assert inside == pytest.approx(2 * 7 / 8 * 4e9 / 360e9 + 14 * 5e-6)
    assert outside == pytest.approx(2 * 15 / 16 * 4e9 / 40e9 + 30 * 5e-6)


def test_overlap_hides_the_shorter_part():
    sizes = paper.Sizes(1_000_000_000, 2e9, 24, 1024, 16, 50_000)
    apart = paper.step(sizes, 4096, 256)
    together = paper.step(sizes, 4096, 256, paper.H100._replace(overlap=1.0))
    assert apart.total == apart.compute + apart.update + apart.all_reduce
    assert together.total == pytest.approx(max(apart.compute, apart.all_reduce) + apart.update)
    assert paper.step(sizes, 4096, 1).all_reduce == 0 == paper.step(sizes, 4096, 1).sent
    assert paper.step(sizes, 4096, 256, micro_batches=5).sent == 5 * apart.sent  # each is summed over the workers
    assert paper.step(sizes, 4096, 1, remat=True).compute == pytest.approx(4 / 3 * apart.compute)


def test_the_most_rows_fit():
    sizes = report.Sizes(124_439_808, 0.0, 12, 768, 12, 50_257)
    for scheme in paper.SCHEMES:
        rows = paper.most_rows(sizes, 1024, scheme)
        assert paper.memory(sizes, rows, 1024, scheme) <= 80e9 < paper.memory(sizes, rows + 1, 1024, scheme)
    limits = [paper.most_rows(sizes, 1024, scheme, workers=2) for scheme in paper.SCHEMES]
    assert limits == sorted(limits)
    schemes = [paper.least_scheme(sizes, rows, 1024, workers=2) for rows in (1, *limits, limits[-1] + 1)]
    assert schemes == ["plain", *paper.SCHEMES, None]
    with pytest.raises(ValueError, match="scheme='all'"):
        paper.kept_bytes(sizes, 1024, "all")


def test_fit_finds_factors_and_none_below_zero():
    table = np.random.default_rng(0).uniform(1, 2, (9, 3)) * [1, 1e9, 1e-3]
    factors = np.array([0.5, 2e-10, 30.0])
    assert report.fit(table, table @ factors) == pytest.approx(factors)
    assert report.left_out(table, table @ factors) == pytest.approx(table @ factors)
    found = report.fit(table, table @ [0.5, 2e-10, -3.0])
    assert found[2] == 0 and (found >= 0).all()


def test_assumptions_can_be_changed():
    assert report.assume(["utilisation=0.5", "network=1e11"]) == paper.H100._replace(utilisation=0.5, network=1e11)
    assert "| utilisation | 0.5 | of peak_flops | --assume |" in report.assumptions_table(
        report.assume(["utilisation=0.5"])
    )
    with pytest.raises(ValueError, match="NAME=VALUE"):
        report.assume(["utilisation"])
    with pytest.raises(ValueError, match="'speed'"):
        report.assume(["speed=3"])


def test_bytes_that_a_connection_sent_are_counted():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        other, _ = server.accept()
        with other:
            before = runs.sent_bytes()
            one.sendall(bytes(50_000))
            while other.recv(50_000, socket.MSG_PEEK | socket.MSG_WAITALL) != bytes(50_000):
                pass
            for _ in range(100):  # what has come is acknowledged a little later
                if runs.sent_bytes() - before < 50_000:
                    time.sleep(0.05)
            assert runs.sent_bytes() - before == 50_000


def test_the_log_is_whole():
    cells = {runs.Cell(*(row[name] for name in runs.Cell._fields)): row for row in ROWS if row["kind"] == "step"}
    assert list(cells) == [*runs.CELLS, runs.HELD_OUT]
    for cell, row in cells.items():
        assert row["parameters"] == paper.decoder_parameters(*cell[:4])
        assert len(row["cpu"]) == len(row["wall"]) == TURNS["step"] and min(row["cpu"]) > 0
    several = [(row["workers"], row["vocabulary"]) for row in ROWS if row["kind"] == "workers"]
    assert several == [(workers, cell.vocabulary) for workers in scale.WORKERS for cell in runs.OVER_WORKERS]


def test_workers_send_what_rings_do():
    for row in ROWS:
        if row["kind"] == "workers":
            assert len(row["sent"]) == TURNS["workers"]
            ring = paper.all_reduce_bytes(row["parameters"], row["workers"])
            assert np.median(row["sent"]) == pytest.approx(ring, rel=0.005, abs=1000)


def test_the_allocator_takes_more_than_is_asked_for():
    steps = [row for row in ROWS if row["kind"] == "step"]
    ratios = [row["step_bytes"] / report.step_bytes(row, paper.H100) for row in steps]
    assert np.mean(ratios) == pytest.approx(paper.H100.allocator, abs=0.05) and min(ratios) >= 1 and max(ratios) < 1.5
    states = [row["state_bytes"] / row["parameters"] for row in steps]
    assert all(12 <= state < 24 for state in states)  # weights and moments, in chunks of up to twice their size


@pytest.mark.slow
def test_the_report_names_every_assumption():
    text = report.report(ROWS, paper.H100)
    assert all(f"| {name} |" in text for name in paper.ASSUMPTIONS)


@pytest.mark.slow
def test_workers_are_measured(monkeypatch):
    monkeypatch.setattr(scale, "WORKERS", (1, 2))
    rows = scale.over_workers(turns=1)
    assert [row["workers"] for row in rows] == [1, 2]
    assert all(row["cpu"][0] > 0 for row in rows) and rows[0]["sent"][0] < 20_000 < rows[1]["sent"][0]
