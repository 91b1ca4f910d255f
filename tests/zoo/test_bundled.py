"""The models whose weights are in the package: size, format, card, and that they are worth loading."""

from __future__ import annotations

import importlib
import json
import re

import pytest

import zoo
from keras_transformers.training.metrics.text_scores import SCORES

BUNDLED = [zoo.describe(name) for name in zoo.names(bundled=True)]
pytestmark = pytest.mark.usefixtures("loaded_once")
by_name = pytest.mark.parametrize("entry", BUNDLED, ids=lambda entry: entry.name)


@by_name
def test_it_is_small(entry):
    most, dtypes = (24e6, {"F8_E4M3", "F16"}) if entry.name == "minilm_mini_en" else (12e6, {"F16"})
    assert sum(path.stat().st_size for path in entry.folder.rglob("*")) <= most
    with open(entry.folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert {tensor["dtype"] for name, tensor in header.items() if name != "__metadata__"} == dtypes


@pytest.mark.integration
@by_name
def test_it_is_what_its_entry_says(entry):
    task = zoo.load(entry.name)
    assert task.name == entry.task
    assert task.config == entry.config
    assert task.tokenizer.vocabulary_size == entry.config.vocabulary_size


@by_name
def test_its_card_states_the_results(entry):
    card = (entry.folder / "README.md").read_text(encoding="utf-8")
    assert entry.licence in card and f"{entry.parameters:,}" in card
    assert entry.results
    for result in entry.results:
        is_small = result.value < 2 and not result.metric.endswith("exact_match")
        assert (f"{result.value:.3f}" if is_small else f"{result.value:.1f}") in card, result.metric


@pytest.mark.integration
def test_the_encoder_has_learnt_english():
    fills = zoo.load("mini_bert_en").predict(["She looked at [MASK] and smiled.", "He [MASK] to the door."])
    pronouns, verbs = ({token for token, _ in answer["fills"][0]} for answer in fills)
    assert pronouns & {"him", "her", "me", "them", "it"}
    assert verbs & {"went", "came", "turned", "walked", "ran", "opened"}


@pytest.mark.integration
def test_the_decoder_has_learnt_english():
    texts = zoo.load("gpt_mini_en").generate(
        ["She looked at", "He went to the"], max_new_tokens=1, temperature=1.0, top_k=8, num_sequences=20
    )
    pronouns, nouns = ({text.strip() for text in row} for row in texts)
    assert pronouns & {"him", "her", "me", "them", "it", "the"}
    assert nouns & {"door", "window", "house", "other", "room", "same"}


@pytest.mark.integration
def test_the_translator_has_learnt_german():
    assert zoo.load("transformer_mini_en_de").generate(["The cat danced.", "I have two brothers."]) == [
        "Die Katze tanzte.",
        "Ich habe zwei Brüder.",
    ]


@pytest.mark.integration
def test_the_sentence_encoder_finds_what_means_the_same():
    task = zoo.load("minilm_mini_en")
    texts = ["A dog runs over the grass.", "The bank has raised its rates.", "He plays a song on the guitar."]
    queries = ["Interest went up.", "Someone makes music.", "An animal is outdoors."]
    assert [found[0]["index"] for found in task.search(queries, texts, top=1)] == [1, 2, 0]


@pytest.mark.data
def test_the_translator_reads_captions(data_dir):
    """Text of another kind, on which it was not trained; the card says what it gives."""
    english, german = (
        (data_dir / "multi30k" / f"test_2016_flickr.{side}").read_text(encoding="utf-8").splitlines()[:200]
        for side in ("en", "de")
    )
    texts = zoo.load("transformer_mini_en_de").generate(english)
    card = (zoo.describe("transformer_mini_en_de").folder / "README.md").read_text(encoding="utf-8")
    said = [float(number) for number in re.search(r"BLEU is ([\d.]+) and chrF ([\d.]+)\.\n", card).groups()]
    assert [SCORES[name](texts, german) for name in ("bleu", "chrf")] == pytest.approx(said, rel=0.01)


@pytest.mark.integration
def test_what_leaves_no_token_is_blank_to_the_translator():
    answers = zoo.load("transformer_mini_en_de").predict(["\u200b", "▁", "\ufeff", "No."])
    assert [bool(answer["error"]) for answer in answers] == [True] * 3 + [False]


@pytest.mark.parity
@pytest.mark.data
def test_transformers_translates_alike(data_dir):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from zoo.transformer_mini_en_de import split

    _, (texts, _) = split(data_dir / "tatoeba_deu_eng" / "deu.txt")
    texts = texts[: 4 * 40 : 4]  # short ones; some stand there twice
    folder = zoo.describe("transformer_mini_en_de").folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    expected = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text)])
        written = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=128)
        expected.append(tokenizer.decode(written[0], skip_special_tokens=True))
    assert len(set(expected)) > 20
    assert zoo.load("transformer_mini_en_de").generate(texts) == expected


@by_name
@pytest.mark.data
@pytest.mark.slow
def test_its_results_are_measured(entry, data_dir):
    module = importlib.import_module(f"zoo.{entry.name}")
    (folder,) = re.findall(r"--data DATA/?(\w*)", module.__doc__)
    results = module.measure(zoo.load(entry.name), data_dir / folder)
    for result in entry.results:
        if result.command.startswith("benchmarks/"):
            continue  # fine-tuned with several seeds
        assert results[result.metric] == pytest.approx(result.value, rel=0.01), result.metric
