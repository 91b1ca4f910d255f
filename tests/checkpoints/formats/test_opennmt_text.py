"""Which files beside a checkpoint of OpenNMT-tf are read, and how texts become ids."""

from __future__ import annotations

import json
import shutil

import pytest
from opennmt_models import TARGET_MODEL, write, write_config, write_text
from spm_models import MODEL

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.text.sentencepiece.spm_file import Piece, SentencePieceModel, serialize

UNKNOWN = 13  # of the source


def ids(place, source: str = "a cat z", target: str = "xy x") -> tuple[list[int], list[int]]:
    """The ids of a source and of a target."""
    tokenizers = find_stored(place).tokenizers()
    return tuple(tokenizer.encode([text])[0].ids for tokenizer, text in zip(tokenizers, (source, target), strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write(folder, layers=(1, 1))
    return folder


@pytest.fixture
def place(run, tmp_path):
    """A copy of a run, to change its files."""
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture(scope="module")
def expected(run):
    source, target = ids(run)
    assert source[-1] == UNKNOWN and target[-1] == 2
    return source, target


def rename(place, **names: str) -> None:
    for old, new in names.items():
        for suffix in ("vocab", "model"):
            (place / f"{old}.{suffix}").rename(place / new.format(suffix))


@pytest.mark.parametrize(
    "names",
    [
        {"en": "source.{}", "de": "target.{}"},
        {"en": "src-{}.txt", "de": "tgt-{}.txt"},
        {"en": "wmt.en.{}", "de": "{}.de"},
        {"en": "xx.{}", "de": "my_target.{}"},
    ],
)
def test_files_are_known_by_names_and_sizes(names, place, expected):
    rename(place, **names)
    for path in place.glob("*model.txt"):
        path.rename(path.with_suffix(".spm"))
    if (other := place / "model.de").exists():
        other.rename(place / "de.spm")
    assert ids(place) == expected


def test_files_that_could_be_of_either_side_are_asked_for(place, expected):
    write_text(place, "fr", TARGET_MODEL)
    with pytest.raises(
        ValueError, match=r"several vocabularies.*belongs to the target: call them source.vocab and targ"
    ):
        find_stored(place)
    (place / "fr.vocab").unlink()
    (place / "de.model").rename(place / "it.model")
    with pytest.raises(ValueError, match=r"several SentencePiece models.*belongs to de.vocab: call it target.model"):
        find_stored(place)
    write_config(place, {"target_tokenization": {"type": "SentencePieceTokenizer", "params": {"model": "/x/it.model"}}})
    assert ids(place) == expected


def test_a_yaml_file_names_them_by_paths_of_another_machine(place, expected):
    rename(place, en="a.{}", de="b.{}")
    for name in ("c", "d"):
        write_text(place, name, MODEL)
    (place / "tokens.yml").write_text(json.dumps({"mode": "none", "sp_model_path": "C:\\data\\a.model"}))
    data = {"source_vocabulary": "/data/a.vocab", "target_vocabulary": "../b.vocab",
            "source_tokenization": "conf/tokens.yml",
            "target_tokenization": {"type": "OpenNMTTokenizer", "params": {"mode": "none", "sp_model_path": "b.model"}},
            "train_features_file": "/data/train.txt"}  # fmt: skip
    write_config(place, data)
    assert ids(place) == expected

    (place / "a.vocab").rename(place.parent / "a.vocab")
    for name in ("/data/a.vocab", "../a.vocab", str(place.parent / "a.vocab"), "a" * 5000, "\0", "..", ""):
        write_config(place, data | {"source_vocabulary": name})
        with pytest.raises(ValueError, match=r"config.yml: source_vocabulary names '.*copy it to"):
            find_stored(place)


def test_the_average_of_a_run_has_the_files_of_the_run(place, expected):
    (place / "avg").mkdir()
    for path in place.glob("ckpt-7.*"):
        path.rename(place / "avg" / path.name)
    assert ids(place / "avg") == expected


def test_the_vocabularies_that_are_written_for_tensorboard(place, expected):
    names = {"en": "features", "de": "labels"}
    for old, side in names.items():
        text = (place / f"{old}.vocab").read_text() + "<unk>\n"
        (place / f"model_examples_inputter_{side}_inputter_embedding.txt").write_text(text)
    assert ids(place) == expected
    for old, side in (("en", "source"), ("de", "target")):
        (place / f"{old}.vocab").unlink()
        (place / f"{old}.model").rename(place / f"{side}.model")
    assert ids(place) == expected


def test_texts_without_a_model_are_split_at_spaces(place):
    for path in place.glob("*.model"):
        path.unlink()
    lines = (place / "en.vocab").read_text().splitlines()
    assert ids(place, "▁cat z ▁a") == ([lines.index("▁cat"), UNKNOWN, lines.index("▁a")], [8, 3, 2])
    assert any("source come as tokens with spaces" in clause for clause in find_stored(place).assumed)


@pytest.mark.parametrize(
    ("controls", "around"), [({"end": True}, ([], [2])), ({"start": True, "end": True}, ([1], [2])), ({}, ([], []))]
)
def test_sequence_controls_of_sources(controls, around, place, expected):
    write_config(place, {"source_sequence_controls": controls})
    before, behind = around
    assert ids(place) == ([*before, *expected[0], *behind], expected[1])


def test_sources_end_where_the_model_type_has_it_so(tmp_path):
    write(tmp_path, width=16, description="models.get_model_from_catalog('ScalingNmtEnDe')")
    assert ids(tmp_path, "a")[0][-1] == 2
    assert "texts of the source end with </s>, as ScalingNmtEnDe reads them" in find_stored(tmp_path).assumed
    write_config(tmp_path, {"source_sequence_controls": {"end": False}})
    assert ids(tmp_path, "a")[0][-1] != 2


@pytest.mark.parametrize("key", ["source_sequence_controls", "target_sequence_controls"])
def test_sequence_controls_that_are_refused(key, place):
    write_config(place, {key: {"start": True}})
    with pytest.raises(ValueError, match=f"config.yml: {key}={{'start': True}} is not supported"):
        find_stored(place)


def test_pieces_that_are_no_line_are_told(place):
    pieces = (*MODEL.pieces, Piece("ta", -2.5))
    (place / "en.model").write_bytes(serialize(SentencePieceModel(pieces)))
    assert any("1 pieces of en.model that are no line of en.vocab" in clause for clause in find_stored(place).assumed)


def test_vocabularies_are_missing(place):
    for path in place.glob("*.vocab"):
        path.unlink()
    with pytest.raises(
        ValueError, match=r"no vocabulary beside the OpenNMT-tf checkpoint in .*source.vocab and target"
    ):
        find_stored(place)


def test_a_vocabulary_of_another_size(place):
    with (place / "de.vocab").open("a") as file:
        file.write("one\nmore\n")
    rename(place, en="source.{}", de="target.{}")
    with pytest.raises(ValueError, match=r"target.vocab has 10 lines, and the embedding of the target 9 rows"):
        find_stored(place)


def test_a_model_of_another_vocabulary(place):
    (place / "en.model").write_bytes(serialize(TARGET_MODEL))
    with pytest.raises(ValueError, match=r"en.model and its vocabulary do not belong together: 1 of 5 pieces"):
        find_stored(place)
    (place / "en.model").write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"en.model cannot be used"):
        find_stored(place)


@pytest.mark.parametrize(
    ("tokenization", "said"),
    [
        ({"type": "OpenNMTTokenizer", "params": {"mode": "aggressive", "bpe_model_path": "bpe"}}, "'OpenNMTTokenizer'"),
        ({"mode": "none", "sp_model_path": "en.model", "case_markup": True}, "'OpenNMTTokenizer' with .*case_markup"),
        ({"type": "CharacterTokenizer"}, "'CharacterTokenizer'"),
        ({"type": "SentencePieceTokenizer", "params": {"model": None}}, "'SentencePieceTokenizer'"),
        ({"mode": "none", "sp_model_path": None}, "'OpenNMTTokenizer'"),
    ],
)
def test_other_tokenizers_are_refused_by_name(tokenization, said, place):
    write_config(place, {"source_tokenization": tokenization})
    with pytest.raises(ValueError, match=f"source_tokenization is {said}.*not supported: expected SentencePiece"):
        find_stored(place)


@pytest.mark.integration(quick=["\\x00", "a: &a [*a]", "a: 2001-99-99", "data: [", "{}: {}: {}"])
@pytest.mark.parametrize("content", ["data: [", "{}: {}: {}", "a: &a [*a]", "[" * 5000, "a: 2001-99-99", "\0"])
def test_files_that_are_no_yaml(content, place):
    (place / "config.yml").write_text(content)
    with pytest.raises(ValueError, match=r"config.yml is no YAML"):
        find_stored(place)


def test_yaml_files_of_several_runs(place):
    write_config(place, {"source_vocabulary": "en.vocab"})
    (place / "other.yaml").write_text("data:\n  source_vocabulary: de.vocab\n")
    with pytest.raises(ValueError, match=r"other.yaml has another source_vocabulary than the previous YAML file"):
        find_stored(place)
    (place / "other.yaml").write_text("a list, not of a run")
    assert find_stored(place)


def test_values_of_other_types(place):
    for key in ("source_vocabulary", "target_tokenization", "source_sequence_controls"):
        write_config(place, {key: [1]})
        with pytest.raises(ValueError, match=f"config.yml: {key} must be a"):
            find_stored(place)


def test_a_byte_order_mark_is_told_of_the_file_that_has_it(place):
    path = place / "en.vocab"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(ValueError, match=r"en\.vocab begins with .*ufeff"):
        find_stored(place)
