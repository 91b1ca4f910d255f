"""tokenizer_config.json against tokenizer.json: what is followed, what is refused, what is warned of."""

from __future__ import annotations

import importlib
import json
import sys
import warnings

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from keras_transformers.text import folder as room
from keras_transformers.text.folder import class_options, tokenizer_folder
from keras_transformers.text.folder.class_options import follow
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import byte_pair_vocabulary, wordpiece_vocabulary

WORDS = [*wordpiece_vocabulary.SPECIAL_TOKENS, "<s>", "</s>", "wolfe", "Wolfe", "wölfe", "Wölfe", "中", "文", "中文"]
TEXT = "Wölfe 中文"


def tokens(tokenizer: Tokenizer, text: str = TEXT) -> list[str]:
    return [tokenizer.id_to_token(i) for i in tokenizer.encode([text])[0].ids]


def write(path, values: dict, name: str = tokenizer_folder.CONFIG) -> None:
    (path / name).write_text(json.dumps(values), encoding="utf-8")


def bert_folder(path, config: dict, has_json: bool = True, **normalizer) -> None:
    """A folder of vocab.txt and, in most tests, of a tokenizer.json that lower-cases nothing."""
    vocabulary = {token: i for i, token in enumerate(WORDS)}
    (path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    library = wordpiece_vocabulary.build(vocabulary, **{"lowercase": False, **normalizer})
    if has_json:
        library.save(str(path / "tokenizer.json"))
    write(path, {"tokenizer_class": "BertTokenizer", **config})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"do_lower_case": True}, ["wolfe", "中", "文"]),
        ({"do_lower_case": False}, ["Wölfe", "中", "文"]),
        ({"do_lower_case": True, "strip_accents": False}, ["wölfe", "中", "文"]),
        ({"do_lower_case": False, "strip_accents": True}, ["Wolfe", "中", "文"]),
        ({"do_lower_case": False, "tokenize_chinese_chars": False}, ["Wölfe", "中文"]),
    ],
)
@pytest.mark.parametrize("has_json", [True, False])
def test_berts_class_sets_the_normalizer(tmp_path, config, expected, has_json):
    bert_folder(tmp_path, config, has_json)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tokens(Tokenizer.from_folder(tmp_path)) == ["[CLS]", *expected, "[SEP]"]


def test_null_for_accents_is_a_value(tmp_path):
    """As `do_lower_case`, although tokenizer.json says false."""
    bert_folder(tmp_path, {"do_lower_case": True, "strip_accents": None}, lowercase=True, strip_accents=False)
    assert tokens(Tokenizer.from_folder(tmp_path))[1] == "wolfe"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "means do_lower_case=true, tokenizer.json false: tokenizer.json is used"),
        (
            {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": True},
            "do_lower_case=true, tokenizer.json false",
        ),
        ({"do_lower_case": False, "tokenizer_class": "TokenizersBackend", "strip_accents": True}, "strip_accents=true"),
    ],
)
def test_contradictions_that_tokenizer_json_decides(tmp_path, config, message):
    bert_folder(tmp_path, config)
    with pytest.warns(UserWarning, match=message):
        assert tokens(Tokenizer.from_folder(tmp_path))[1] == "Wölfe"


@pytest.mark.parametrize("has_json", [True, False])
def test_berts_class_sets_the_tokens_around_texts(tmp_path, has_json):
    config = {"do_lower_case": True, "cls_token": "<s>", "sep_token": {"content": "</s>", "lstrip": False}}
    bert_folder(tmp_path, config, has_json)
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokens(tokenizer) == ["<s>", "wolfe", "中", "文", "</s>"]
    assert tokenizer.cls_id == tokenizer.token_to_id("<s>")
    assert tokenizer.encode(["wolfe"], ["wolfe"])[0].segment_ids == [0, 0, 0, 1, 1]


def byte_level(path, config: dict, has_json: bool = True) -> Tokenizer:
    trained = Tokenizer.train(["the cat sat"], 270, model="byte_pair")
    trained.save(path)
    if not has_json:
        (path / "tokenizer.json").unlink()
    write(path, {"tokenizer_class": "GPT2Tokenizer", **config})
    return Tokenizer.from_folder(path)


@pytest.mark.parametrize("has_json", [True, False])
def test_a_space_before_the_first_word(tmp_path, has_json):
    assert tokens(byte_level(tmp_path, {"add_prefix_space": True}, has_json), "c") == ["Ġ", "c"]
    assert tokens(byte_level(tmp_path, {"add_prefix_space": False}, has_json), "c") == ["c"]
    with pytest.warns(UserWarning, match="add_prefix_space=true, tokenizer.json false"):
        made = byte_level(tmp_path, {"add_prefix_space": True, "tokenizer_class": "PreTrainedTokenizerFast"})
    assert tokens(made, "c") == ["c"]


def test_tokens_at_the_beginning_and_the_end_of_vocabulary_files(tmp_path):
    """tokenizer.json counts where there is one."""
    end = byte_pair_vocabulary.END
    config = {"add_bos_token": True, "add_eos_token": True, "eos_token": "<|im_end|>"}
    assert tokens(byte_level(tmp_path, config, has_json=False), "c") == [end, "c", "<|im_end|>"]
    assert tokens(byte_level(tmp_path, {"add_bos_token": False}, has_json=False), "c") == ["c"]
    with pytest.warns(UserWarning, match="add_bos_token=true, add_eos_token=true, tokenizer.json false, false"):
        assert tokens(byte_level(tmp_path, config), "c") == ["c"]


def test_barts_tokens_around_texts():
    vocabulary = {
        token: i
        for i, token in enumerate([*byte_pair_vocabulary.BART_TOKENS, *byte_pair_vocabulary.byte_letters(), "[S]"])
    }
    library = byte_pair_vocabulary.build_bart(vocabulary, [])
    follow(library, "BartTokenizer", {"cls_token": "[S]"}, "here")
    assert library.encode("a").tokens == ["[S]", "a", "</s>"]
    with pytest.raises(ValueError, match=r"The vocabulary lacks \['<s>'"):
        byte_pair_vocabulary.build_bart(dict.fromkeys(byte_pair_vocabulary.byte_letters(), 0), [])


def mbart() -> tokenizers.Tokenizer:
    words = ["<s>", "<pad>", "</s>", "<unk>", "a", "en_XX", "de_DE"]
    library = tokenizers.Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.post_processor = processors.TemplateProcessing(
        "$A </s> en_XX", "$A $B </s> en_XX", [("</s>", 2), ("en_XX", 5)]
    )
    return library


@pytest.mark.parametrize(
    ("name", "language", "expected"),
    [
        ("MBartTokenizer", "de_DE", ["a", "</s>", "de_DE"]),
        ("MBartTokenizer", "en_XX", ["a", "</s>", "en_XX"]),
        ("MBart50Tokenizer", "de_DE", ["de_DE", "a", "</s>"]),
        ("PreTrainedTokenizer", "de_DE", ["a", "</s>", "en_XX"]),
    ],
)
def test_the_language_of_the_source(name, language, expected):
    library = mbart()
    follow(library, name, {"src_lang": language}, "here")
    assert library.encode("a").tokens == expected


def test_a_language_that_is_none():
    with pytest.raises(ValueError, match=r"src_lang='fr_XX', but the vocabulary has no 'fr_XX'\. Expected one of its"):
        follow(mbart(), "MBartTokenizer", {"src_lang": "fr_XX"}, "here")


def test_llamas_space_is_not_followed():
    library = tokenizers.Tokenizer(models.BPE({"▁": 0, "a": 1}, []))
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    with pytest.warns(UserWarning, match="add_prefix_space=false, tokenizer.json true"):
        follow(library, "LlamaTokenizer", {"add_prefix_space": False}, "here")


@pytest.mark.parametrize("name", ["BertJapaneseTokenizer", "TapasTokenizer", "PhobertTokenizer"])
@pytest.mark.parametrize("file", ["config.json", tokenizer_folder.CONFIG])
@pytest.mark.parametrize("has_json", [True, False])
def test_classes_with_code_of_their_own_are_refused(tmp_path, name, file, has_json):
    bert_folder(tmp_path, {"tokenizer_class": None}, has_json)
    write(tmp_path, {"tokenizer_class": name}, file)
    with pytest.raises(ValueError, match=rf"{file} names the class {name}, which .* PreTrainedTokenizerFast"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    "name", ["RoFormerTokenizer", "FunnelTokenizerFast", "GPT2Tokenizer", "PreTrainedTokenizerFast"]
)
@pytest.mark.parametrize("file", ["config.json", tokenizer_folder.CONFIG])
def test_classes_that_vocab_txt_does_not_tell(tmp_path, name, file):
    """They have a vocab.txt, too, but other special tokens; the generic class needs a tokenizer.json."""
    bert_folder(tmp_path, {"tokenizer_class": None}, has_json=False)
    write(tmp_path, {"tokenizer_class": name}, file)
    with pytest.raises(
        ValueError, match=rf"Cannot build a {name.removesuffix('Fast')} from vocab.txt in .*Provide its"
    ):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("name", ["DistilBertTokenizerFast", "ElectraTokenizer"])
def test_classes_that_are_berts(tmp_path, name):
    bert_folder(tmp_path, {"tokenizer_class": name}, has_json=False)
    assert tokens(Tokenizer.from_folder(tmp_path))[1] == "wolfe"


def test_the_class_decides_between_pipelines_of_the_same_files(tmp_path):
    """BART's special tokens are in the vocabulary, but GPT-2's class puts none around texts."""
    special = [*byte_pair_vocabulary.BART_TOKENS]
    Tokenizer.train(["the cat sat"], 270, model="byte_pair", special_tokens=special).save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    write(tmp_path, {"tokenizer_class": "GPT2Tokenizer"})
    assert tokens(Tokenizer.from_folder(tmp_path), "c") == ["c"]
    write(tmp_path, {"tokenizer_class": "RobertaTokenizerFast"})
    assert tokens(Tokenizer.from_folder(tmp_path), "c") == ["<s>", "c", "</s>"]


def test_the_class_follows_from_the_model_where_none_is_named(tmp_path):
    """As in roberta-base: config.json names the model, and RoBERTa's class obeys `add_prefix_space`."""
    special = [*byte_pair_vocabulary.BART_TOKENS]
    Tokenizer.train(["the cat sat"], 270, model="byte_pair", special_tokens=special).save(tmp_path)
    parts = byte_pair_vocabulary.read(tmp_path / "vocab.json", tmp_path / "merges.txt")
    byte_pair_vocabulary.build_bart(*parts).save(str(tmp_path / "tokenizer.json"))
    write(tmp_path, {"add_prefix_space": True})
    write(tmp_path, {"model_type": "roberta"}, "config.json")
    assert tokens(Tokenizer.from_folder(tmp_path), "c") == ["<s>", "Ġ", "c", "</s>"]


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [
        ("BertTokenizer", {"post_processor": None}, "post_processor, special tokens around texts; .*"),
        ("BertTokenizer", {"normalizer": {"type": "Lowercase"}}, "normalizer, BertNormalizer; .* Lowercase"),
        (
            "DistilBertTokenizerFast",
            {"pre_tokenizer": {"type": "Whitespace"}},
            "pre_tokenizer, BertPreTokenizer; .* Whitespace",
        ),
        ("MPNetTokenizer", {"normalizer": {"type": "Lowercase"}}, "normalizer, BertNormalizer; .* Lowercase"),
        ("BartTokenizer", {"post_processor": None}, "post_processor, special tokens around texts; .*"),
        ("GPT2Tokenizer", {"normalizer": {"type": "Lowercase"}}, "normalizer, null; tokenizer.json has Lowercase"),
    ],
)
def test_components_that_are_not_the_class_s_own_are_told(tmp_path, name, change, kind):
    """`transformers` builds the class's, version 4 took those of tokenizer.json."""
    special = [*byte_pair_vocabulary.BART_TOKENS] if name == "BartTokenizer" else None
    model = "wordpiece" if "Bert" in name or "MPNet" in name else "byte_pair"
    Tokenizer.train(["the cat sat"], 280, model=model, special_tokens=special).save(tmp_path)
    config = json.loads((tmp_path / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(config | change))
    write(tmp_path, {"tokenizer_class": name, "do_lower_case": True})
    with pytest.warns(
        UserWarning, match=f"{kind}: tokenizer.json is used here. Write the class PreTrainedTokenizerFast"
    ):
        Tokenizer.from_folder(tmp_path)
    write(tmp_path, {"tokenizer_class": "PreTrainedTokenizerFast"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tokenizer.from_folder(tmp_path)


def test_special_tokens_in_texts_cannot_be_split(tmp_path):
    bert_folder(tmp_path, {"do_lower_case": True, "split_special_tokens": True}, has_json=False)
    with pytest.warns(UserWarning, match="split_special_tokens is not followed"):
        Tokenizer.from_folder(tmp_path)


def test_a_token_whose_roles_are_given_to_others_is_a_word(tmp_path):
    """Of vocab.txt: [MASK] is special by its role only, unless another file names it."""
    bert_folder(tmp_path, {"mask_token": "<s>"}, has_json=False)
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokenizer.token_to_id("[MASK]") not in tokenizer.special_ids
    assert tokens(tokenizer, "[MASK] <s>") == ["[CLS]", "[UNK]", "[UNK]", "[UNK]", "<s>", "[SEP]"]
    bert_folder(tmp_path, {"mask_token": "<s>", "additional_special_tokens": ["[MASK]"]}, has_json=False)
    assert tokens(Tokenizer.from_folder(tmp_path), "[MASK]") == ["[CLS]", "[MASK]", "[SEP]"]


def test_an_unknown_token_that_the_vocabulary_lacks(tmp_path):
    bert_folder(tmp_path, {"unk_token": "<nothing>"}, has_json=False)
    with pytest.raises(ValueError, match=r"the vocabulary has no unk_token '<nothing>'.* such as '\[UNK\]'"):
        Tokenizer.from_folder(tmp_path)


def test_special_tokens_may_have_any_characters(tmp_path):
    bert_folder(tmp_path, {"cls_token": "$A", "sep_token": "<a b>:1"}, has_json=False)
    assert tokens(Tokenizer.from_folder(tmp_path), "wolfe") == ["$A", "wolfe", "<a b>:1"]
    bert_folder(tmp_path, {"cls_token": "\ud800"}, has_json=False)
    with pytest.raises(ValueError, match=r"the token '.ud800' is not valid text: it has a lone surrogate"):
        Tokenizer.from_folder(tmp_path)


def test_a_tokenizer_alone_loads_no_families(tmp_path, monkeypatch):
    """Their tables are loaded for a folder of a model only."""
    monkeypatch.setitem(sys.modules, "keras_transformers.families", None)  # an import fails
    monkeypatch.delitem(sys.modules, class_options.__name__)
    monkeypatch.setattr(room, "class_options", class_options)  # which the next line replaces
    importlib.import_module(class_options.__name__)
    Tokenizer.train(["a fine film"], vocabulary_size=60).save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).encode(["film"])
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ValueError, match="families halted"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("bert", "BertTokenizer"), ("mobilebert", "BertTokenizer"), ("xlnet", "XLNetTokenizer"), ("", None), ("?", None)],
)
def test_class_by_the_type_of_the_model(kind, name):
    assert class_options.class_of_model(kind) == name
