"""The files of an OpenNMT-tf run beside its checkpoint: YAML files, and model_description.py, read as text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.checkpoints.files.yaml_file import read_yaml
from keras_transformers.checkpoints.stored import HOW_TO_GIVE, UserOptions
from keras_transformers.utils.json_file import check_types
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import decoded, read_bytes, shown

DESCRIPTION = "model_description.py"
SECTIONS = ("data", "params")
TYPE = re.compile(r"""get_model_from_catalog\(\s*["'](\w+)["']""")
HEADS = re.compile(r"\bnum_heads\s*=\s*(\d{1,4})\b")
ACTIVATION = re.compile(r"\bffn_activation\s*=\s*([\w.]+)")
HEADS_OF = {
    **dict.fromkeys(("Transformer", "TransformerBase", "TransformerBaseSharedEmbeddings"), 8),
    **dict.fromkeys(("TransformerBig", "TransformerBigSharedEmbeddings", "ScalingNmtEnDe", "ScalingNmtEnFr"), 16),
    "TransformerTiny": 2,
}
ENDING_SOURCES = ("ScalingNmtEnDe", "ScalingNmtEnFr")  # by their auto_config
ACTIVATIONS = {
    "tf.nn.relu": "relu", "tf.nn.gelu": "gelu", "tf.nn.silu": "silu", "tf.nn.swish": "silu",
    **dict.fromkeys(("gelu", "layers.gelu", "common.gelu", "opennmt.layers.gelu", "onmt.layers.gelu"), "gelu_tanh"),
}  # fmt: skip


class Run(NamedTuple):
    """The facts that the files of a run say.

    Args:
        homes: Folders that its files are looked for in.
        data, params: The sections of its YAML files.
        source: Source of these sections, for errors.
        model_type: Model type in OpenNMT-tf's catalog, or None.
        description: The text of model_description.py, or "".
    """

    homes: Sequence[Path]
    data: Mapping[str, Any]
    params: Mapping[str, Any]
    source: str
    model_type: str | None
    description: str

    def find(self, name: Any, key: str) -> Path:
        """Return the file beside the checkpoint with the name of a path, whose folder may be of another machine.

        Raises:
            ValueError: There is none.
        """
        check_types({key: name}, {key: str}, self.source)
        base = re.split(r"[/\\]", name)[-1]
        for home in self.homes:
            if os.path.isfile(home / base):  # False for impossible names, too
                return home / base
        raise ValueError(
            f"{self.source}: {key} names {shown(name)}, and no file outside of the checkpoint's folder is read: copy "
            f"it to {self.homes[0]}."
        )


def read_run(folder: Path) -> Run:
    """Read the files beside a checkpoint; those above the folder `avg`, too, where OpenNMT-tf writes averages.

    Raises:
        ValueError: A YAML file cannot be read, or two of them contradict each other.
    """
    homes = (folder, folder.parent) if folder.name == "avg" else (folder,)
    paths = [path for home in homes for path in sorted((*home.glob("*.yml"), *home.glob("*.yaml"))) if path.is_file()]
    sections: dict[str, dict[str, Any]] = {name: {} for name in (*SECTIONS, "")}
    sources = []
    for path in paths:
        values = read_yaml(path)
        if any(isinstance(values.get(name), dict) for name in SECTIONS):  # others belong to a tokenizer, or to no run
            sources.append(path.name)
            _add_sections(sections, values, path)
    descriptions = (home / DESCRIPTION for home in homes)
    description = next((decoded(read_bytes(path), path) for path in descriptions if path.is_file()), "")
    match = TYPE.search(description)
    model_type = sections[""].get("model_type") or (match[1] if match else None)
    source = str(folder / " and ".join(sources))
    return Run(homes, sections["data"], sections["params"], source, model_type, description)


def _add_sections(sections: Mapping[str, dict[str, Any]], values: Mapping[str, Any], path: Path) -> None:
    """Add the sections of one more file."""
    given = {name: values[name] for name in SECTIONS if isinstance(values.get(name), dict)}
    if isinstance(values.get("model_type"), str):
        given[""] = {"model_type": values["model_type"]}
    for name, section in given.items():
        for key, value in section.items():
            if sections[name].setdefault(key, value) != value:
                raise ValueError(
                    f"{path} has another {key} than the previous YAML file: expected the same. Remove the file of the "
                    "other checkpoint from the folder."
                )


def num_heads(run: Run, user_options: UserOptions, width: int, source: Any) -> tuple[int, list[str]]:
    """Return the number of attention heads, and the assumptions behind it.

    Raises:
        ValueError: Nothing says it, or two things differ, or it does not divide the width.
    """
    in_description = {int(number) for number in HEADS.findall(run.description)}
    implied = HEADS_OF.get(run.model_type or "") or (in_description.pop() if len(in_description) == 1 else None)
    if user_options.num_heads is not None and implied not in (None, user_options.num_heads):
        origin = f"the model type {run.model_type}" if run.model_type in HEADS_OF else DESCRIPTION
        raise ValueError(
            f"{source}: received num_heads={shown(user_options.num_heads)}, but {origin} has {implied} heads. Leave "
            "num_heads out, or correct the file."
        )
    number = implied if user_options.num_heads is None else user_options.num_heads
    if number is None:
        raise ValueError(
            f"{source}: checkpoints of OpenNMT-tf do not contain the number of attention heads, and no {DESCRIPTION} "
            f"beside it names a model of the catalog: give {HOW_TO_GIVE['num_heads']}. Transformer and "
            "TransformerBase have 8, TransformerBig 16, TransformerTiny 2."
        )
    if not is_size(number) or width % number:
        raise ValueError(f"{source}: num_heads must divide the width, {width}: received {shown(number)}.")
    if user_options.num_heads is None and run.model_type in HEADS_OF:
        return number, [f"{number} attention heads, as {run.model_type} has"]
    return number, []


def activation(run: Run, source: Any) -> tuple[str, list[str]]:
    """Return the activation of the feed-forward layers, and the assumptions behind it.

    Raises:
        ValueError: model_description.py names one that is not known here.
    """
    match = ACTIVATION.search(run.description)
    if match is None:
        clause = "ReLU between the feed-forward layers, as all Transformers of the catalog have"
        return "relu", [] if run.description else [clause]
    if match[1] not in ACTIVATIONS:
        raise ValueError(
            f"{source}: {DESCRIPTION} says ffn_activation={shown(match[1])}, which is not supported: expected one of "
            f"{sorted(ACTIVATIONS)}."
        )
    return ACTIVATIONS[match[1]], []
