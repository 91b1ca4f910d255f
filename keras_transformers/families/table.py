"""The fields of a table of names, and the look-up of names in it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    import numpy as np

LEAVES = {"kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias", "scale": ".weight",
          "embeddings": ".weight"}  # fmt: skip
LEGACY_LEAVES = {"gamma": "weight", "beta": "bias"}  # in BERT files converted from TensorFlow 1
# Activations by their names in activations.py of `transformers`; of several names for one, the first is written.
ACTIVATIONS = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu", "silu": "silu", "tanh": "tanh", "swish": "silu",
    "gelu_python": "gelu", "gelu_python_tanh": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh", "gelu_accurate": "gelu_tanh",
}  # fmt: skip
# Of the layers behind the pooling, which sentence-transformers stores in folders of their own.
OF_VECTORS = "sentence_transformers."
# Of a conditional random field behind a token classifier, as `pytorch-crf` calls them in a module `crf`.
OF_CRF = "crf."
CRF_WEIGHTS = {f"crf/{name}": OF_CRF + name for name in ("transitions", "start_transitions", "end_transitions")}
CRF_SCALE = 100.0  # ours are a hundredth, so that the rate of fine-tuning moves the scores by as much as they need
VECTOR_LAYERS = {"vector_dense_{i}": f"{OF_VECTORS}{{i}}.linear", "vector_norm_{i}": f"{OF_VECTORS}{{i}}.norm"}
# The names of all options of a configuration; files of before the biases were apart have `use_bias` alone.
CONFIG_FIELDS = ("use_bias", *(field.name for field in dataclasses.fields(TransformerConfig)))
SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_length")


# The ends of the names of classes of `transformers`, by our tasks.
CLASSES = {
    "pretraining": "ForPreTraining", "masked_lm": "ForMaskedLM", "classification": "ForSequenceClassification",
    "token_classification": "ForTokenClassification", "question_answering": "ForQuestionAnswering",
    "sentence_embedding": "Model", "ranking": "ForSequenceClassification", "multiple_choice": "ForMultipleChoice",
}  # fmt: skip
MASKED_LM = ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias")  # our layers of BERT's head


class Reshaped(NamedTuple):
    """A tensor stored in another shape than ours: `read` converts an array to our shape, `write` back."""

    read: Callable[[np.ndarray], np.ndarray]
    write: Callable[[np.ndarray], np.ndarray]


SCALED = Reshaped(  # in float32, as 8-bit floats would lose digits
    read=lambda array: array.astype("float32") / CRF_SCALE, write=lambda array: array * CRF_SCALE
)


class Fused(NamedTuple):
    """Layers that are stored as one tensor, which holds several of ours side by side.

    Args:
        pattern: Pattern that the names of such layers match.
        parts: Our layers in them, in order: `"query"` means the weight `c_attn.query` where `c_attn` is stored.
        widths: Function from a configuration to the output widths of the parts; None if all parts have the same width.
        groups: Function from a configuration to the number of groups, each of which holds a slice of every part, as
            GPT-NeoX stores the query, key and value of one head after the other; None for one group.
    """

    pattern: str
    parts: tuple[str, ...]
    widths: Callable[[TransformerConfig], Sequence[int]] | None = None
    groups: Callable[[TransformerConfig], int] | None = None


def heads(name: str, **layers: tuple[str, ...]) -> dict[str, Any]:
    """Return the `architectures` and `tasks` of an encoder family, whose classes have names with the usual ends.

    Args:
        name: Beginning of the names of the classes.
        **layers: Our layers in each class besides the model without head, by the end of its name after `For`.

    Example:

    >>> heads("Bert", SequenceClassification=("pooler", "classifier"))["architectures"]
    {'BertModel': (), 'BertForSequenceClassification': ('pooler', 'classifier')}
    """
    architectures = {f"{name}Model": (), **{f"{name}For{end}": of_class for end, of_class in layers.items()}}
    tasks = {task: name + end for task, end in CLASSES.items() if name + end in architectures}
    return {"architectures": architectures, "tasks": tasks}


def after_unused(unused: int) -> Reshaped:
    """Return the `Reshaped` of a table of positions that begins with rows which no token takes.

    Args:
        unused: Number of these rows: see `config.choices.first_position`.

    Example:

    >>> import numpy as np
    >>> after_unused(2).write(np.ones((3, 1))).ravel().tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """

    def write(array: np.ndarray) -> np.ndarray:
        import numpy as np

        return np.concatenate([np.zeros((unused, *array.shape[1:]), array.dtype), array])

    return Reshaped(read=lambda array: array[unused:], write=write)


def with_defaults(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Add the defaults of options that config.json leaves out, or has null for.

    Args:
        values: Options by their names.
        defaults: The same of `transformers`, where the family's own facts are others.

    Example:

    >>> with_defaults({"norm_eps": None, "pad_token_id": 3}, {"norm_eps": 1e-12, "pad_token_id": 0})
    {'norm_eps': 1e-12, 'pad_token_id': 3}
    """
    return {**values, **{key: default for key, default in defaults.items() if values.get(key) is None}}


def reworded(values: dict[str, Any], words: Mapping[str, Mapping[str, str]], back: bool = False) -> dict[str, Any]:
    """Translate the values of options whose words differ, such as `classifier_pooling`.

    Args:
        values: Options by their names.
        words: Our word for each of theirs, by the option.
        back: Whether to translate ours to theirs; of several for one, the first.

    Raises:
        ValueError: A value is no known word.

    Example:

    >>> reworded({"pooling": "cls"}, {"pooling": {"cls": "first"}})
    {'pooling': 'first'}
    """
    found = dict(values)
    for key, ours in words.items():
        known = {our: their for their, our in reversed(list(ours.items()))} if back else ours
        if found.get(key) is not None:
            if found[key] not in known:
                raise ValueError(f"{key}={shown(found[key])} is not supported; only {sorted(known)} are.")
            found[key] = known[found[key]]
    return found


class Names(NamedTuple):
    """Table of one family: "our" names belong to this library, "their" names to `transformers`.

    Args:
        model_type: The family's name, here and in config.json.
        configure: The family's function.
        tokenizer_class: Tokenizer class of `transformers` for folders that name none; those have any when empty.
        prefix: Prefix of all names except heads'; files of a model without head omit it.
        weights: Their names by our variable paths. A layer's path covers its kernel and bias, or gamma and beta. `{i}`
            is the number of a block.
        weights_of: Entries of `weights` that differ in the files of a class of `transformers`, by the name of the
            class.
        optional: Prefixes of the names of heads, which a model without that head ignores.
        redundant: Pattern of the names of constants.
        copies: Names of tensors that may be copies, and the name of the tensor that each copies.
        architectures: Our layers that each class of `transformers` needs besides the model without head;
            `lm_head` only if it is not tied.
        tasks: The class of `transformers` for each of our tasks.
        fields: Their option names by our configuration fields.
        activations: Our activations by their names; if two names mean the same one, the first is written.
        fixed: Options of which our layers support one value only, which is the default.
        equal: Options that must equal another option, since both are one field of ours.
        required: Our fields that config.json must have.
        fused: Layers that hold several of our layers side by side.
        untransposed: Prefixes of the names of kernels stored as (input, output), as ours are.
        biased: Pattern of the names of layers that always have a bias; zeros are written if ours have none.
        logits_bias: Name of a bias of the logits that is written as zeros if the model has none.
        fallbacks: Tensors that a file may lack, and the name of the tensor that is used instead.
        older: Tensors under their names of today, and the name of each in older files.
        remote_type: `model_type` of files with remote code, from before the family was in `transformers`; with a dot,
            it is their `prefix`. Or of a model that holds this one as a part, such as one that reads images, too.
        renamed: Prefixes of names in such files, the longest first, and the prefix of each here.
        reshaped: Tensors of another shape than ours, by name.
        variants: Tables for models in which a field of ours, such as `"gated"`, is set.
        read: Function that converts the options of config.json to those that `fields` names.
        write: The inverse of `read`.
    """

    model_type: str
    configure: Callable[..., TransformerConfig]
    prefix: str
    weights: dict[str, str]
    optional: tuple[str, ...]
    redundant: str
    copies: dict[str, str]
    architectures: dict[str, tuple[str, ...]]
    tasks: dict[str, str]
    fields: dict[str, str]
    activations: dict[str, str]
    fixed: dict[str, Any]
    equal: dict[str, str]
    required: tuple[str, ...] = SIZES
    weights_of: dict[str, dict[str, str]] = {}  # noqa: RUF012
    fused: tuple[Fused, ...] = ()
    untransposed: tuple[str, ...] = ()
    biased: str = ""
    logits_bias: str | None = None
    fallbacks: dict[str, str] = {}  # noqa: RUF012
    older: dict[str, str] = {}  # noqa: RUF012
    remote_type: str = ""
    renamed: dict[str, str] = {}  # noqa: RUF012
    tokenizer_class: str = ""
    reshaped: dict[str, Reshaped] = {}  # noqa: RUF012 - a field of a NamedTuple
    variants: dict[str, Names] = {}  # noqa: RUF012
    read: Callable[[dict[str, Any]], dict[str, Any]] = dict
    write: Callable[[dict[str, Any]], dict[str, Any]] = dict


def their_name(path: str, names: Names) -> tuple[str, bool]:
    """Return the tensor that holds a variable, and whether it is stored transposed.

    Example:

    >>> from keras_transformers.checkpoints.settings.names import FAMILIES
    >>> their_name("encoder_block_3/attention/query/kernel", FAMILIES["bert"])
    ('bert.encoder.layer.3.attention.self.query.weight', True)
    """
    name = look_up(path, names.weights, LEAVES)
    if name is None:
        raise ValueError(f"the {names.model_type} format of Hugging Face has no place for the weight {path!r}.")
    return name, path.endswith("/kernel") and not name.startswith(names.untransposed)


def look_up(path: str, weights: dict[str, str], leaves: dict[str, str]) -> str | None:
    """Translate a variable's path, as a whole or as its layer and last part; None if unknown."""
    number = "".join(re.findall(r"_(?:block|dense|norm)_(\d+)/", path))
    pattern = re.sub(r"_(block|dense|norm)_\d+/", r"_\1_{i}/", path)
    layer, _, leaf = pattern.rpartition("/")
    if pattern in weights:
        return weights[pattern].format(i=number)
    if layer in weights and leaf in leaves:
        return weights[layer].format(i=number) + leaves[leaf]
    return None


def modern_name(name: str, names: Names) -> str:
    """Return the name in current `transformers` of a tensor from an older file, or from one without prefix.

    Example:

    >>> from keras_transformers.checkpoints.settings.names import FAMILIES
    >>> modern_name("embeddings.LayerNorm.gamma", FAMILIES["bert"])
    'bert.embeddings.LayerNorm.weight'
    """
    stem, _, leaf = name.rpartition(".")
    name = f"{stem}.{LEGACY_LEAVES[leaf]}" if leaf in LEGACY_LEAVES else name
    name = name.removeprefix(f"{names.remote_type}.")  # of no remote code: no name begins with a dot
    theirs = next((prefix for prefix in names.renamed if name.startswith(prefix)), "")
    name = names.renamed.get(theirs, "") + name.removeprefix(theirs)
    return (
        name if name.startswith((names.prefix, *names.optional)) or name == names.logits_bias else names.prefix + name
    )
