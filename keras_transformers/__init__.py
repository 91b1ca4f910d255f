"""Transformers for text, built with the Keras 3 functional API.

These are the public names. Each is imported when it is first asked for, so that `import keras_transformers` itself
imports neither Keras nor NumPy. Models that are ready to use come from `zoo.load`. TensorFlow, when it is first
imported later on, starts without its messages: see `keras_transformers.quiet`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from keras_transformers.quiet import QuietImport

if TYPE_CHECKING:  # for editors and type checkers: the names below once more
    from keras_transformers import families as families
    from keras_transformers.analysis import plot_attention as plot_attention
    from keras_transformers.config.transformer_config import TransformerConfig as TransformerConfig
    from keras_transformers.data.batches.pipeline import batches as batches
    from keras_transformers.layers import CRF as CRF
    from keras_transformers.layers import ALiBi as ALiBi
    from keras_transformers.layers import Attention as Attention
    from keras_transformers.layers import DecoderBlock as DecoderBlock
    from keras_transformers.layers import Dropout as Dropout
    from keras_transformers.layers import EncoderBlock as EncoderBlock
    from keras_transformers.layers import FeedForward as FeedForward
    from keras_transformers.layers import LearnedPositions as LearnedPositions
    from keras_transformers.layers import RelativePositionBias as RelativePositionBias
    from keras_transformers.layers import RotaryPositions as RotaryPositions
    from keras_transformers.layers import SinusoidalPositions as SinusoidalPositions
    from keras_transformers.layers import TokenEmbedding as TokenEmbedding
    from keras_transformers.layers import Viterbi as Viterbi
    from keras_transformers.layers import causal_mask as causal_mask
    from keras_transformers.layers import padding_mask as padding_mask
    from keras_transformers.models import decoder as decoder
    from keras_transformers.models import encoder as encoder
    from keras_transformers.models import encoder_decoder as encoder_decoder
    from keras_transformers.tasks import Task as Task
    from keras_transformers.tasks.export_text import export_text as export_text
    from keras_transformers.text.string_layers import Detokenize as Detokenize
    from keras_transformers.text.string_layers import Tokenize as Tokenize
    from keras_transformers.text.tokenizer import Tokenizer as Tokenizer
    from keras_transformers.training.averaging import AverageEpochs as AverageEpochs
    from keras_transformers.training.freeze import freeze as freeze
    from keras_transformers.training.lora import add_lora as add_lora
    from keras_transformers.training.losses.crf_loss import CRFLoss as CRFLoss
    from keras_transformers.training.losses.target_losses import BinaryCrossEntropy as BinaryCrossEntropy
    from keras_transformers.training.losses.target_losses import CrossEntropy as CrossEntropy
    from keras_transformers.training.losses.target_losses import MeanSquaredError as MeanSquaredError
    from keras_transformers.training.metrics.path_metrics import BestPath as BestPath
    from keras_transformers.training.metrics.target_metrics import F1 as F1
    from keras_transformers.training.metrics.target_metrics import Accuracy as Accuracy
    from keras_transformers.training.metrics.target_metrics import Pearson as Pearson
    from keras_transformers.training.metrics.target_metrics import Perplexity as Perplexity
    from keras_transformers.training.metrics.text_scores import TextScores as TextScores
    from keras_transformers.training.optimizers.adamw import AdamW as AdamW
    from keras_transformers.training.optimizers.schedules import WarmupCosine as WarmupCosine
    from keras_transformers.training.optimizers.schedules import WarmupInverseSqrt as WarmupInverseSqrt
    from keras_transformers.training.optimizers.schedules import WarmupLinear as WarmupLinear
    from keras_transformers.training.resuming.resume import Resume as Resume

__version__ = "0.2.0"
QuietImport.install()

_NAMES = {
    "analysis": ["plot_attention"],
    "config.transformer_config": ["TransformerConfig"],
    "data.batches.pipeline": ["batches"],
    "layers": [
        *["Attention", "EncoderBlock", "DecoderBlock", "FeedForward", "TokenEmbedding", "Dropout"],
        *["LearnedPositions", "SinusoidalPositions", "RotaryPositions", "RelativePositionBias", "ALiBi"],
        *["CRF", "Viterbi", "causal_mask", "padding_mask"],
    ],
    "models": ["encoder", "decoder", "encoder_decoder"],
    "tasks": ["Task"],
    "tasks.export_text": ["export_text"],
    "text.string_layers": ["Tokenize", "Detokenize"],
    "text.tokenizer": ["Tokenizer"],
    "training.averaging": ["AverageEpochs"],
    "training.freeze": ["freeze"],
    "training.lora": ["add_lora"],
    "training.losses.crf_loss": ["CRFLoss"],
    "training.losses.target_losses": ["CrossEntropy", "BinaryCrossEntropy", "MeanSquaredError"],
    "training.metrics.path_metrics": ["BestPath"],
    "training.metrics.target_metrics": ["Accuracy", "F1", "Pearson", "Perplexity"],
    "training.optimizers.adamw": ["AdamW"],
    "training.resuming.resume": ["Resume"],
    "training.optimizers.schedules": ["WarmupLinear", "WarmupCosine", "WarmupInverseSqrt"],
    "training.metrics.text_scores": ["TextScores"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(["families", *_MODULES])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names are {', '.join(__all__)}")
    if name == "families":
        return import_module("keras_transformers.families")
    value = getattr(import_module(f"keras_transformers.{_MODULES[name]}"), name)
    globals()[name] = value  # not asked for again
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
