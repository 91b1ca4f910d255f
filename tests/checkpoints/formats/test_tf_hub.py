from __future__ import annotations

import numpy as np
import pytest
import tiny
from tf_folders import (
    bert_variables,
    by_name,
    garden_variables,
    google_bert,
    pretraining_variables,
    slots,
    tf_hub,
    write_objects,
    write_variables,
    write_vocabulary,
)

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

BERT = bert_variables()
MASKED_LM = {name: array for name, array in pretraining_variables().items() if "predictions" in name}


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("has_head", [True, False])
def test_what_it_holds_equals_the_checkpoint_that_it_was_made_from(tmp_path, heads, has_head):
    variables = BERT | (MASKED_LM if has_head else {})
    hub = find_stored(tf_hub(tmp_path / "hub/3", garden_variables(variables, heads)))
    google = by_name(find_stored(google_bert(tmp_path / "google", variables, heads=heads)))
    tensors = by_name(hub)
    assert tensors.keys() == google.keys()
    assert all(np.array_equal(tensors[name], google[name]) for name in google)
    assert hub.writer == "TF-Hub"
    assert hub.config.num_heads == heads
    assert hub.values["architectures"] == ["BertForMaskedLM" if has_head else "BertModel"]
    assert hub.config.activation == "gelu_tanh"


@pytest.mark.parametrize("lowercase", [True, False])
def test_lower_case_is_what_the_variable_says(tmp_path, lowercase):
    folder = tf_hub(tmp_path / "cased" / "uncased", garden_variables(BERT), lowercase)
    stored = find_stored(folder)
    assert stored.assumed == []
    assert stored.tokenizers()[0].encode(["FINE film"])[0].ids == [2, 25 if lowercase else 1, 26, 3]
    assert find_stored(folder, UserOptions(lowercase=lowercase, num_heads=2)).assumed == []
    with pytest.raises(ValueError, match=f"do_lower_case={lowercase}: received lowercase={not lowercase}"):
        find_stored(folder, UserOptions(lowercase=not lowercase))
    with pytest.raises(ValueError, match="num_heads=4"):
        find_stored(folder, UserOptions(num_heads=4))


@pytest.mark.parametrize("scope", ["", "module/"])
def test_a_module_of_tensorflow_1(tmp_path, scope):
    variables = bert_variables(width=64, layers=1)
    write_variables(tmp_path / "variables/variables", {scope + name: array for name, array in variables.items()})
    write_vocabulary(tmp_path / "assets")
    (tmp_path / "tfhub_module.pb").write_bytes(b"\x08\x03")
    stored = find_stored(tmp_path)
    assert (stored.config.num_heads, len(by_name(stored))) == (1, len(variables))
    assert len(stored.assumed) == 3


class TestOthers:
    def test_no_variables(self, tmp_path):
        (tmp_path / "saved_model.pb").write_bytes(b"")
        with pytest.raises(ValueError, match=r"without variables/variables.index"):
            find_stored(tmp_path)

    def test_a_model_of_images(self, tmp_path):
        write_objects(tmp_path / "variables/variables", {"conv1/kernel": np.ones((3, 3, 3, 8), "float32")})
        (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 100)
        with pytest.raises(ValueError, match=r"no BERT encoder.*conv1/kernel.*images"):
            find_stored(tmp_path)

    def test_a_module_of_something_else(self, tmp_path):
        write_variables(tmp_path / "variables/variables", {"module/embeddings/part_0": np.ones((3, 2), "float32")})
        (tmp_path / "saved_model.pb").write_bytes(b"")
        with pytest.raises(ValueError, match=r"no BERT encoder.*module/embeddings/part_0"):
            find_stored(tmp_path)

    def test_only_a_vocabulary_is_missing(self, tmp_path):
        (tf_hub(tmp_path, garden_variables(BERT)) / "assets/vocab.txt").unlink()
        with pytest.raises(ValueError, match=r"no vocab.txt in .*assets"):
            find_stored(tmp_path)

    def test_slots_are_no_part_of_it(self, tmp_path):
        assert "global_step" not in by_name(find_stored(tf_hub(tmp_path, garden_variables(BERT) | slots({}))))

    @pytest.mark.integration
    def test_our_own_export(self, tmp_path):
        tiny.classifier().export(tmp_path / "export")
        with pytest.raises(ValueError, match=r"`task.export` writes.*folder that `task.save` wrote"):
            find_stored(tmp_path / "export")
