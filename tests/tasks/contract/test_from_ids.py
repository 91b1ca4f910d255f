"""The outputs of a model for token ids: names, sizes, and operations that converters know."""

from __future__ import annotations

from contextlib import nullcontext

import every_task
import numpy as np
import pytest
from family_cases import CASES, KINDS

from keras_transformers.models import encoder
from keras_transformers.tasks.contract.from_ids import FromIds

# The names of the outputs are those of the classes of `transformers`.
OUTPUTS = {
    "classification": {"logits": (2, 2)},
    "masked_lm": {"logits": (2, 3, 74)},
    "multiple_choice": {"logits": (2, 3)},
    "pretraining": {"prediction_logits": (2, 3, 74), "seq_relationship_logits": (2, 2)},
    "question_answering": {"start_logits": (2, 3), "end_logits": (2, 3)},
    "ranking": {"logits": (2, 1)},
    "replaced_tokens": {"logits": (2, 3)},
    "sentence_embedding": {"last_hidden_state": (2, 3, 16), "sentence_embedding": (2, 16)},
    "token_classification": {"logits": (2, 3, 2)},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", OUTPUTS)
def test_names_and_sizes(name):
    from_ids = every_task.make(name).parts.answers.from_ids
    assert from_ids.names == ("input_ids", "attention_mask", "token_type_ids")
    ones = np.ones((2, 3, 4)[: from_ids.rank], "int64")
    found = from_ids.run(ones, ones, 0 * ones)
    assert {name: tuple(value.shape) for name, value in found.items()} == OUTPUTS[name]
    assert np.shape(from_ids.examples["input_ids"]) == (1,) * from_ids.rank


@pytest.mark.parametrize("name", ["causal_lm", "seq2seq_lm"])
def test_tasks_that_write_texts_have_none(name):
    assert getattr(every_task.make(name).parts.answers, "from_ids", None) is None


@pytest.mark.integration
@pytest.mark.parametrize("family", [name for name, kind in KINDS.items() if kind == "encoder"])
def test_new_axes_are_no_strided_slices(family):
    """LiteRT 2.20 and later refuses these. Models with one segment take no `token_type_ids`."""
    config = CASES[family].small()
    from_ids = FromIds(encoder(config), config.num_segments, lambda outputs: {"states": outputs["hidden_states"]})
    graph = from_ids.traced(nullcontext).get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    assert not [node.name for node in nodes if node.op == "StridedSlice" and node.attr["new_axis_mask"].i]
    assert ("token_type_ids" in from_ids.names) == (config.num_segments > 1)
