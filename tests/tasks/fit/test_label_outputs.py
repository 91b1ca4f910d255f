from __future__ import annotations

import numpy as np
import pytest
import tiny

from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.tasks.fit.label_outputs import AllOutputs, WithClassWeights, full_objective

ROWS = Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])


def test_optional_outputs_get_labels_that_nothing_reads():
    inputs, labels = AllOutputs(Classification(2), "logits", ["attention_scores"])(ROWS, 4)
    assert labels["logits"].tolist() == [1, 0] and labels["attention_scores"].tolist() == [0, 0]
    assert set(inputs) == {"token_ids", "segment_ids", "padding_mask"}


def test_rows_count_by_their_class():
    weights = np.array([0.5, 3.0])
    *_, rows = WithClassWeights(Classification(2), "logits", weights)(ROWS, 4)
    assert rows.tolist() == [3.0, 0.5]
    both = WithClassWeights(AllOutputs(Classification(2), "logits", ["hidden_states"]), "logits", weights)
    *_, by_output = both(ROWS, 4)
    assert {name: row.tolist() for name, row in by_output.items()} == {"logits": [3.0, 0.5], "hidden_states": [1, 1]}


def test_rows_without_labels_stay_so():
    rows = Rows.of([[2, 3]])
    for objective in (AllOutputs(Classification(2), "a", ["b"]), WithClassWeights(Classification(2), "a", np.ones(2))):
        assert len(objective(rows, 4)) == 1


@pytest.mark.integration
def test_a_task_without_classes_takes_no_weights():
    with pytest.raises(ValueError, match="received one for masked_lm"):
        full_objective("masked_lm", tiny.masked_lm().parts, (), {0: 1.0})
