"""transformer_mini_en_de, the bundled translator: 4 + 2 layers of 256, trained here on sentences of Tatoeba.

    python -m zoo train transformer_mini_en_de --data DATA/tatoeba_deu_eng --out FOLDER

`DATA/tatoeba_deu_eng` holds deu.txt: `english<TAB>german` a line.
"""

from pathlib import Path

from keras_transformers.families import marian
from zoo.registry.entry import Result, entry
from zoo.registry.recipe import AVERAGED, FIRST, state_folder

MEASURE = "-m zoo train transformer_mini_en_de --data DATA/tatoeba_deu_eng --out FOLDER"
# A Transformer in Marian's form, which `transformers` reads.
CONFIG = marian(
    5_120, num_layers=4, num_heads=4, hidden_dim=256, intermediate_dim=512, num_decoder_layers=2, max_length=128,
    activation="relu", pad_id=0, eos_ids=[1],
)  # fmt: skip
ENTRY = entry(
    __name__,
    summary="A Transformer in small that translates short English sentences into German, trained on Tatoeba.",
    config=CONFIG,
    task="seq2seq_lm",
    parameters=5_005_824,
    licence="CC-BY-2.0",
    source="bundled",
    paper="https://arxiv.org/abs/1706.03762",
    results=(
        Result("tatoeba_deu_eng held-out", "bleu", 42.5, MEASURE),
        Result("tatoeba_deu_eng held-out", "chrf", 60.5, MEASURE),
        Result("tatoeba_deu_eng held-out", "exact_match", 19.7, MEASURE),
    ),
)  # fmt: skip

FILES = ("deu.txt",)  # of the data


def train(
    data: Path, folder: Path, epochs: int = 12, first_epochs: int = 5, seed: int = 1, verbose: int = 1
) -> dict[str, float]:
    """Train from scratch, resuming an interrupted run; write the folder that is bundled; measure held-out pairs.

    First come `first_epochs` passes over sentences, then `epochs` over sentences and pairs of them. What is written is
    the mean of the weights after the last five.
    """
    import keras

    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer
    from keras_transformers.training.metrics.text_scores import import_sacrebleu

    import_sacrebleu()  # now, rather than after hours
    keras.utils.set_random_seed(seed)
    (english, german), _ = split(data / "deu.txt")
    tokenizer = Tokenizer.train(english + german, CONFIG.vocabulary_size, model="unigram")
    # The paper's initialisers; Marian's are for a width of 512.
    fresh = {"initializer_range": None, "embedding_initializer_range": CONFIG.hidden_dim**-0.5}
    first = Task("seq2seq_lm", CONFIG.replace(**fresh), tokenizer)
    _learn_sentences(first, english, german, state_folder(folder) / FIRST, first_epochs, seed, verbose)
    task = Task("seq2seq_lm", CONFIG, tokenizer, generation={"num_beams": 4}, dtype="mixed_bfloat16")
    task.model.set_weights(first.model.get_weights())
    _learn_pairs(task, english, german, state_folder(folder), epochs, seed, verbose)
    task.save(folder, dtype="float16")
    return measure(task, data)


def _learn_sentences(task, english: list[str], german: list[str], state: Path, epochs: int, seed: int, verbose: int):
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupCosine
    from keras_transformers.training.resuming.resume import Resume

    dataset = task.dataset(english, german, batch_tokens=2048, seed=seed)
    steps = epochs * dataset.num_batches
    rate = WarmupCosine(1e-3, steps // 12, steps)
    task.compile(AdamW(rate, weight_decay=0.01, beta_2=0.98), jit_compile=True)
    resume = Resume(state, dataset, every=100)
    task.model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume])


def _learn_pairs(task, english: list[str], german: list[str], state: Path, epochs: int, seed: int, verbose: int):
    from keras_transformers.training.averaging import AverageEpochs
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupInverseSqrt
    from keras_transformers.training.resuming.resume import Resume

    english, german = with_pairs(english, german, seed)
    dataset = task.dataset(english, german, batch_tokens=4096, seed=seed)
    task.compile(AdamW(WarmupInverseSqrt(1e-3, 500), weight_decay=0.01, beta_2=0.98))
    resume = Resume(state, dataset, every=100)
    average = AverageEpochs(state / AVERAGED, count=min(5, epochs))
    task.model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume, average])


def with_pairs(english: list[str], german: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Return the sentences and, for every four of them, a text of two: else the model learns short texts only.

    Paper: Kondo et al. 2021, "Sentence Concatenation Approach to Data Augmentation for Neural Machine Translation",
    https://aclanthology.org/2021.naacl-srw.18.
    """
    import random

    number = len(english) // 4
    rows = random.Random(seed).sample(range(len(english)), 2 * number)
    pairs = list(zip(rows[:number], rows[number:], strict=True))

    def longer(texts: list[str]) -> list[str]:
        return [*texts, *(f"{texts[one]} {texts[other]}" for one, other in pairs)]

    return longer(english), longer(german)


def measure(task, data: Path) -> dict[str, float]:
    """Return scores of the translations of held-out sentences, each against one reference."""
    from keras_transformers.training.metrics.text_scores import SCORES

    _, (english, german) = split(data / "deu.txt")
    texts = task.generate(english)
    return {name: SCORES[name](texts, german) for name in ("bleu", "chrf", "exact_match")}


def split(path: Path) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]]:
    """Split the pairs into those to train on and those to measure with: one sentence in a hundred, all translations.

    Sentences that differ in their case and punctuation only are on the same side.
    """
    import re
    from zlib import crc32

    parts: tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]] = ([], []), ([], [])
    for line in path.read_text(encoding="utf-8").splitlines():
        english, german = line.split("\t")[:2]  # newer files have a column of authors
        words = " ".join(re.findall(r"\w+", english.casefold()))
        for texts, text in zip(parts[crc32(words.encode()) % 100 == 0], (english, german), strict=True):
            texts.append(text)
    return parts
