"""Names of Mistral, and of its fine-tunes such as E5-Mistral."""

from __future__ import annotations

from typing import Any

from keras_transformers import families
from keras_transformers.checkpoints.names.llama import LLAMA
from keras_transformers.checkpoints.names.table import with_defaults
from keras_transformers.config.block_options import make_block_options
from keras_transformers.utils.untrusted import shown

WINDOW = "sliding_window"
# The defaults of `transformers` for options that config.json omits: not always what the released files say.
DEFAULTS = {"rms_norm_eps": 1e-6, "rope_theta": 10_000.0}
IF_MISSING = {WINDOW: 4096, "num_key_value_heads": 8}  # null is a value: no window, as many heads as queries have


def _read(values: dict[str, Any]) -> dict[str, Any]:
    values = IF_MISSING | with_defaults(values, DEFAULTS)
    return values | {WINDOW: [] if values[WINDOW] is None else [{"attention_window": values[WINDOW]}]}


def _write(values: dict[str, Any]) -> dict[str, Any]:
    blocks = make_block_options(values[WINDOW])
    window = blocks[0].attention_window if blocks else None
    if blocks and blocks != make_block_options([{"attention_window": window}]):
        raise ValueError(
            f"the mistral format of Hugging Face has no place for block_options={shown(values[WINDOW])}: expected one "
            "window for all blocks, or none."
        )
    return values | {WINDOW: window}


MISTRAL = LLAMA._replace(
    model_type="mistral",
    configure=families.mistral,
    architectures={name.replace("Llama", "Mistral"): heads for name, heads in LLAMA.architectures.items()},
    tasks={task: name.replace("Llama", "Mistral") for task, name in LLAMA.tasks.items()},
    fields={ours: theirs for ours, theirs in LLAMA.fields.items() if ours != "use_bias"} | {"block_options": WINDOW},
    equal={},
    read=_read,
    write=_write,
)
