"""Names of XLM-RoBERTa and CamemBERT: RoBERTa's, but for those of their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.roberta import ROBERTA
from keras_transformers.checkpoints.names.table import Names
from keras_transformers.config.transformer_config import TransformerConfig


def _called(model_type: str, configure: Callable[..., TransformerConfig], prefix: str) -> Names:
    """Return RoBERTa's table with classes whose names begin otherwise."""

    def rename(architecture: str) -> str:
        return prefix + architecture.removeprefix("Roberta")

    def keyed(entries: dict[str, Any]) -> dict[str, Any]:
        return {rename(architecture): value for architecture, value in entries.items()}

    return ROBERTA._replace(
        model_type=model_type,
        configure=configure,
        weights_of=keyed(ROBERTA.weights_of),
        architectures=keyed(ROBERTA.architectures),
        tasks={task: rename(architecture) for task, architecture in ROBERTA.tasks.items()},
    )


XLM_ROBERTA = _called("xlm-roberta", families.xlm_roberta, "XLMRoberta")
CAMEMBERT = _called("camembert", families.camembert, "Camembert")
