"""The vocabularies and SentencePiece models beside an OpenNMT-tf checkpoint, and the tokenizers made from them."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers

from keras_transformers.checkpoints.files.yaml_file import read_yaml
from keras_transformers.checkpoints.formats.opennmt_run import ENDING_SOURCES, Run
from keras_transformers.text.folder import opennmt_tokenizers
from keras_transformers.text.sentencepiece import sentencepiece_pipeline, spm_file
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import BEGIN, END, UNKNOWN_TOKEN
from keras_transformers.text.sentencepiece.spm_file import SentencePieceModel
from keras_transformers.utils.json_file import check_types
from keras_transformers.utils.untrusted import shown

SIDES = ("source", "target")
SYNONYMS = {"src": "source", "tgt": "target", "trg": "target"}
GENERAL = {"", "vocab", "vocabulary", "voc", "txt", "model", "spm", "sp", "sentencepiece", "shared", "joint"}
MODELS = ("*.model", "*.spm")
# What OpenNMT-tf writes into the folder of a run for TensorBoard: the vocabularies, with <unk> in the last line.
METADATA = {
    "source": "model_examples_inputter_features_inputter_embedding.txt",
    "target": "model_examples_inputter_labels_inputter_embedding.txt",
}
# Options of pyonmttok that leave texts to SentencePiece; those of sampling are for training.
PLAIN = {"mode", "sp_model_path", "spacer_annotate", "sp_nbest_size", "sp_alpha"}


class Side(NamedTuple):
    """The parts of one side's tokenizer.

    Args:
        tokens: The lines of its vocabulary.
        model: SentencePiece model; None if texts are given as tokens separated by spaces.
        before, behind: Special tokens around its texts.
        assumed: As `Stored.assumed`.
    """

    tokens: Sequence[str]
    model: SentencePieceModel | None
    before: Sequence[str]
    behind: Sequence[str]
    assumed: Sequence[str]

    def build(self) -> tokenizers.Tokenizer:
        """Build its pipeline."""
        return opennmt_tokenizers.build(self.tokens, self.model, self.before, self.behind)


def read_sides(run: Run, rows: Mapping[str, int]) -> list[Side]:
    """Find and read the vocabularies and models of source and target.

    Args:
        run: Settings of the run that wrote the checkpoint.
        rows: Number of rows of the embedding of each side.

    Raises:
        ValueError: A file is missing or damaged, is of another model, or could be of either side.
    """
    vocabularies, controls = _find_vocabularies(run, rows), _controls(run)
    return [_read_side(run, side, vocabularies[side], rows[side], *controls[side]) for side in SIDES]


def _read_side(run: Run, side: str, path: Path, rows: int, before: Sequence[str], behind: Sequence[str]) -> Side:
    tokens = _read_tokens(path, rows)
    if len(tokens) + 1 != rows:
        raise ValueError(
            f"{path} has {len(tokens):,} lines, and the embedding of the {side} {rows:,} rows: expected a line for "
            f"each row but the last, <unk>. Give the {side}'s vocabulary of this checkpoint."
        )
    assumed = []
    if side == "source" and behind and not run.data.get("source_sequence_controls"):
        assumed.append(f"texts of the source end with {END}, as {run.model_type} reads them")
    place = _find_model(run, side, path)
    if place is None:
        clause = f"texts of the {side} come as tokens with spaces between them, as no SentencePiece model is there"
        return Side(tokens, None, before, behind, [*assumed, clause])
    model = spm_file.read(place)
    if absent := sentencepiece_pipeline.count_absent(model, {*tokens}, place):
        clause = f"{absent} pieces of {place.name} that are no line of {path.name} are cut into smaller ones, not <unk>"
        assumed.append(clause)
    return Side(tokens, model, before, behind, assumed)


def _read_tokens(path: Path, rows: int) -> list[str]:
    """Read a vocabulary; without its line for <unk>, if the embedding's size shows that there is one."""
    tokens = opennmt_tokenizers.read_vocabulary(path)
    return tokens[:-1] if len(tokens) == rows and tokens[-1] == UNKNOWN_TOKEN else tokens


def _controls(run: Run) -> dict[str, tuple[list[str], list[str]]]:
    """Return the special tokens before and after the texts of each side."""
    keys = {side: f"{side}_sequence_controls" for side in SIDES}
    check_types(run.data, dict.fromkeys(keys.values(), dict), run.source)
    controls = {side: run.data.get(key) or {} for side, key in keys.items()}
    around = {side: (values.get("start") is True, values.get("end") is True) for side, values in controls.items()}
    if not controls["source"] and run.model_type in ENDING_SOURCES:
        around["source"] = (False, True)
    wrong = {
        "source": around["source"] == (True, False),
        "target": controls["target"] and around["target"] != (True, True),
    }
    for side in SIDES:
        if wrong[side]:
            raise ValueError(
                f"{run.source}: {keys[side]}={shown(controls[side])} is not supported: a text that begins with {BEGIN} "
                f"must end with {END}, and a target has both."
            )
    around["target"] = (False, True)  # the decoder adds the start token itself
    return {side: ([BEGIN] if start else [], [END] if end else []) for side, (start, end) in around.items()}


def _find_vocabularies(run: Run, rows: Mapping[str, int]) -> dict[str, Path]:
    keys = {side: f"{side}_vocabulary" for side in SIDES}
    named = {side: run.find(run.data[key], key) for side, key in keys.items() if run.data.get(key) is not None}
    if len(named) == len(SIDES):
        return named
    paths = _named_once(run.homes, ["*"], _is_vocabulary)
    written = _named_once(run.homes, METADATA.values(), lambda path: True)
    if not paths and written:  # one, if both sides share it
        return {"source": written[0], "target": written[-1]} | named
    if not paths:
        raise ValueError(
            f"there is no vocabulary beside the OpenNMT-tf checkpoint in {run.homes[0]}: expected one file, or two "
            f"named source.vocab and target.vocab, whose first lines are {list(opennmt_tokenizers.SPECIAL)}. "
            "Copy them there."
        )
    return {side: named.get(side) or _choose_vocabulary(side, paths, rows) for side in SIDES}


def _choose_vocabulary(side: str, paths: Sequence[Path], rows: Mapping[str, int]) -> Path:
    """Return the vocabulary of a side: the only one, or by its name, or else by its size."""
    other = SIDES[side == SIDES[0]]
    tests: tuple[Callable[[Path], bool], ...] = (
        lambda path: side in _telling_words(path),
        lambda path: other not in _telling_words(path),
        lambda path: len(_read_tokens(path, rows[side])) + 1 == rows[side],
    )
    for is_it in (lambda path: True, *tests):
        if len(found := [path for path in paths if is_it(path)]) == 1:
            return found[0]
    raise ValueError(
        f"{paths[0].parent} has several vocabularies, {shown([path.name for path in paths])}, and it is unknown which "
        f"belongs to the {side}: call them source.vocab and target.vocab, or name them in a YAML file there, as "
        "OpenNMT-tf does (data: source_vocabulary, target_vocabulary)."
    )


def _is_vocabulary(path: Path) -> bool:
    if path.name in METADATA.values():
        return False
    with path.open("rb") as file:
        return file.read(23).removeprefix(BOM_UTF8).split()[:3] == [
            token.encode() for token in opennmt_tokenizers.SPECIAL
        ]


def _named_once(homes: Sequence[Path], patterns: Iterable[str], is_wanted: Callable[[Path], bool]) -> Sequence[Path]:
    """Return the files of a kind; of two with the same name, the one in the first folder."""
    found = (path for home in homes for pattern in patterns for path in sorted(home.glob(pattern)))
    named: dict[str, Path] = {}
    for path in found:
        if path.is_file() and is_wanted(path):
            named.setdefault(path.name, path)
    return list(named.values())


def _telling_words(path: Path) -> set[str]:
    """Return the telling words of a file's name, such as the language or the side."""
    return {SYNONYMS.get(word, word) for word in re.split(r"[^a-z0-9]+", path.name.lower())} - GENERAL


def _find_model(run: Run, side: str, vocabulary: Path) -> Path | None:
    """Return a side's SentencePiece model: as a YAML file names it, else by the vocabulary's name, or the only one."""
    key = f"{side}_tokenization"
    if (named := _named_model(run, run.data.get(key), key)) is not None:
        return named
    paths = _named_once(run.homes, MODELS, lambda path: True)
    alike = [path for path in paths if _telling_words(path) & (_telling_words(vocabulary) | {side})]
    if len(alike) == 1 or len(paths) < 2:
        return next(iter(alike or paths), None)
    raise ValueError(
        f"{paths[0].parent} has several SentencePiece models, {shown([path.name for path in paths])}, and it is "
        f"unknown which belongs to {vocabulary.name}: call it {side}.model, or name it in a YAML file there, as "
        f"OpenNMT-tf does (data: {key})."
    )


def _named_model(run: Run, tokenization: Any, key: str) -> Path | None:
    """Return the model that a tokenization of a YAML file names; None where it names none.

    Raises:
        ValueError: It does more than SentencePiece.
    """
    values = read_yaml(run.find(tokenization, key)) if isinstance(tokenization, str) else tokenization
    check_types({key: values}, {key: dict}, run.source)
    if not values:
        return None
    kind, params = values.get("type"), values
    if kind is not None:
        params = values.get("params") or {}
        check_types({"params": params}, {"params": dict}, run.source)
    if kind == "SpaceTokenizer":
        return None
    if kind == "SentencePieceTokenizer" and params.get("model") is not None:
        return run.find(params["model"], "model")
    is_plain = kind in (None, "OpenNMTTokenizer") and params.get("mode") == "none" and params.keys() <= PLAIN
    if is_plain and params.get("sp_model_path") is not None:
        return run.find(params["sp_model_path"], "sp_model_path")
    raise ValueError(
        f"{run.source}: {key} is {shown(kind or 'OpenNMTTokenizer')} with {shown(dict(params))}, which is not "
        "supported: expected SentencePieceTokenizer, or OpenNMTTokenizer with mode: none and sp_model_path alone. Take "
        "the key out of the file to give texts that are tokenised already, with spaces between the tokens."
    )
