"""Components of a tokenizer.json against those of its class: without a warning, ids equal those of `transformers`."""

from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors

from keras_transformers.text.sentencepiece.charsmap import compile_rules
from keras_transformers.text.tokenizer import Tokenizer

RULES = normalizers.Precompiled(compile_rules({"\n": " ", "\t": " ", "ａ": "a"}))
RUNS, STRIP = normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip(left=False, right=True)
SPLIT, SPACE = pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()
CLASSES = ("XLMRobertaTokenizer", "CamembertTokenizer", "T5Tokenizer")
TEXTS = ["A b", "a  b", " a b ", "a\nb\t", "ａ b", "c"]
WORDS = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "▁b", "▁A", "a", "b", "c", "▁", "A", "<mask>"]
# Normalizers, pre-tokenizers, and the component that is told, if any.
PIPELINES = {
    "the class's": ([RULES], [SPLIT, SPACE], None),
    "without rules": ([], [SPLIT, SPACE], None),
    "runs of spaces": ([RULES, RUNS], [SPLIT, SPACE], None),
    "no other white space": ([RULES, STRIP, RUNS], [SPACE], None),
    "lower case": ([RULES, normalizers.Lowercase()], [SPLIT, SPACE], "normalizer, .*Precompiled, Lowercase"),
    "another letter": ([RULES, normalizers.Replace("c", "b")], [SPLIT, SPACE], "normalizer, .*Precompiled, Replace"),
    "ends are kept": ([RULES, RUNS], [SPACE], "pre_tokenizer, WhitespaceSplit, Metaspace; .* has Metaspace"),
    "no rules, no split": ([STRIP, RUNS], [SPACE], "pre_tokenizer, WhitespaceSplit, Metaspace"),
}


def save(folder, name, normalizer, splitter):
    is_t5 = name == "T5Tokenizer"
    words = ["<pad>", "</s>", "<unk>", *WORDS[4:]] if is_t5 else WORDS
    scores = [(word, -float(number)) for number, word in enumerate(words)]
    library = tokenizers.Tokenizer(models.Unigram(scores, unk_id=words.index("<unk>")))
    library.normalizer = normalizers.Sequence(normalizer) if normalizer else None
    library.pre_tokenizer = pre_tokenizers.Sequence(splitter)
    library.add_special_tokens([word for word in words if word[0] == "<"])
    start = [] if is_t5 else ["<s>"]
    library.post_processor = processors.TemplateProcessing(
        single=[*start, "$A", "</s>"],
        pair=[*start, "$A", "</s>", "$B", "</s>"],
        special_tokens=[(token, words.index(token)) for token in (*start, "</s>")],
    )
    library.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))


@pytest.mark.parity
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("case", PIPELINES)
def test_what_is_not_told_gives_the_ids_of_transformers(tmp_path, recwarn, name, case):
    import transformers

    normalizer, splitter, told = PIPELINES[case]
    save(tmp_path, name, normalizer, splitter)
    theirs = getattr(transformers, name).from_pretrained(tmp_path)(TEXTS)["input_ids"]
    recwarn.clear()
    ours = [row.ids for row in Tokenizer.from_folder(tmp_path).encode(TEXTS)]
    messages = [str(warning.message) for warning in recwarn if "means the class" in str(warning.message)]
    assert (ours == theirs) is (told is None)
    assert len(messages) == (told is not None)


@pytest.mark.parametrize("case", PIPELINES)
def test_the_component_is_named(tmp_path, case):
    normalizer, splitter, told = PIPELINES[case]
    save(tmp_path, CLASSES[0], normalizer, splitter)
    if told is None:
        Tokenizer.from_folder(tmp_path)
        return
    with pytest.warns(UserWarning, match=rf"tokenizer_config\.json means the class XLMRobertaTokenizer and its {told}"):
        Tokenizer.from_folder(tmp_path)
