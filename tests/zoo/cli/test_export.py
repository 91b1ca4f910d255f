"""`export`."""

from __future__ import annotations

import pytest
from command_line import invoke, run


@pytest.mark.integration
def test_export(folders, tmp_path):
    run("export", folders["classification"], tmp_path / "served" / "1")
    assert (tmp_path / "served" / "1" / "saved_model.pb").is_file()


@pytest.mark.integration
def test_export_of_vectors(folders, tmp_path):
    import tensorflow as tf

    import zoo

    task = zoo.load(folders["masked_lm"], "sentence_embedding", prompts={"query": "the "})
    task.save(tmp_path / "vectors")
    run("export", tmp_path / "vectors", tmp_path / "1", "--truncate-dim", "5", "--prompt", "query")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](text=tf.constant(["a film"]))
    expected = task.embed(["a film"], prompt="query", truncate_dim=5)
    assert served["embedding"].numpy() == pytest.approx(expected, abs=1e-5)


@pytest.mark.integration
def test_export_behind_a_prefix(folders, tmp_path):
    import tensorflow as tf

    import zoo

    run("export", folders["causal_lm"], tmp_path / "1", "--prefix", "the long ")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](text=tf.constant(["a fine"]))
    expected = zoo.load(folders["causal_lm"]).generate(["a fine"], prefix="the long ")
    assert [text.decode() for text in served["generated_text"].numpy()] == expected
    done = invoke("export", folders["classification"], tmp_path / "2", "--prefix", "the ")
    assert done.exit_code != 0 and "is made for classification" in " ".join(done.stderr.split())
    assert not (tmp_path / "2").exists()


@pytest.mark.integration
def test_export_compiled_by_xla(folders, tmp_path):
    import tensorflow as tf

    run("export", folders["classification"], tmp_path / "1", "--compiled")
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    names = "serving_default", "serving_default_uncompiled"
    compiled, plain = (signatures[name](text=tf.constant(["a film"]))["probabilities"].numpy() for name in names)
    assert compiled == pytest.approx(plain, abs=1e-5)


@pytest.mark.integration
def test_export_texts_compiled_by_xla(folders, tmp_path):
    import tensorflow as tf

    import zoo

    run("export", folders["causal_lm"], tmp_path / "1", "--compiled")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](text=tf.constant(["a fine"]))
    assert [text.decode() for text in served["generated_text"].numpy()] == zoo.load(folders["causal_lm"]).generate(
        ["a fine"]
    )


def test_small_models_are_not_rounded(folders, tmp_path):
    done = invoke("export", folders["classification"], tmp_path / "1", "--compute", "int8")
    assert done.exit_code != 0 and "the model has none" in " ".join(done.stderr.split())
    assert invoke("export", folders["classification"], tmp_path / "1", "--compute", "int4").exit_code == 2
    assert not (tmp_path / "1").exists()


@pytest.mark.parity
@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_export_of_a_rounded_graph(format, folders, tmp_path):
    import zoo

    labels = zoo.load(folders["classification"]).labels
    rows = tmp_path / "rows.csv"
    rows.write_text(f"text,label\na fine film,{labels[0]}\na dull film,{labels[1]}\n")
    options = ["--format", format, "--quantize", "int8", "--validation", rows, "--label", "label", "--max-loss", "1"]
    printed = run("export", folders["classification"], tmp_path / "out", *options)
    assert "| accuracy |" in printed
    assert "| accuracy |" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "litert", "--length", "0"], "received 0"),
        (["--format", "onnx", "--length", "8"], "takes no length"),
        (["--quantize", "int8"], "quantize: only with format='onnx' or 'litert'"),
    ],
)
def test_options_of_other_formats_are_refused(options, message, folders, tmp_path):
    done = invoke("export", folders["classification"], tmp_path / "out", *options)
    assert done.exit_code != 0 and message in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parity
def test_export_to_onnx(folders, tmp_path):
    run("export", folders["classification"], tmp_path / "onnx", "--format", "onnx")
    assert (tmp_path / "onnx" / "onnx" / "model.onnx").is_file() and not [*tmp_path.rglob("*.safetensors")]
    run("export", folders["classification"], tmp_path / "onnx", "--format", "onnx", "--weights")
    assert (tmp_path / "onnx" / "model.safetensors").is_file()


@pytest.mark.integration
def test_what_onnx_does_not_hold(folders, tmp_path):
    for name, options in (("causal_lm", []), ("classification", ["--compiled"])):
        done = invoke("export", folders[name], tmp_path / "onnx", "--format", "onnx", *options)
        message = " ".join(done.stderr.split())
        assert done.exit_code != 0 and ("answer by one pass" in message or "takes no compiled" in message)
    assert not (tmp_path / "onnx").exists()
