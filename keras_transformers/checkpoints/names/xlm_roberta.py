"""Names of XLM-RoBERTa and CamemBERT: RoBERTa's, but for those of their classes."""

from __future__ import annotations

from collections.abc import Callable

from keras_transformers import families
from keras_transformers.checkpoints.names.roberta import ROBERTA, named_classes
from keras_transformers.checkpoints.names.table import Names
from keras_transformers.config.transformer_config import TransformerConfig


def _called(model_type: str, configure: Callable[..., TransformerConfig], prefix: str) -> Names:
    """Return RoBERTa's table with classes whose names begin otherwise."""
    weights_of = {prefix + it.removeprefix("Roberta"): weights for it, weights in ROBERTA.weights_of.items()}
    return ROBERTA._replace(model_type=model_type, configure=configure, weights_of=weights_of, **named_classes(prefix))


XLM_ROBERTA = _called("xlm-roberta", families.xlm_roberta, "XLMRoberta")
CAMEMBERT = _called("camembert", families.camembert, "Camembert")
