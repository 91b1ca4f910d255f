"""The Transformer-Tiny of Wu et al.: 4 + 4 layers of 128; sizes to train, and how to reproduce their BLEU.

    python -m zoo train transformer_tiny --data DATA/multi30k_bpe --out FOLDER

`DATA/multi30k_bpe` holds train.en, train.de, test.2016.en, test.2016.de: lower-cased words in parts, joined by "@@ ".

Other than theirs: all 8,000 updates are made, where they stop after ten epochs without a better validation loss; and
embeddings start within two standard deviations. Seed 1 on two CPU cores, 65 to 80 s an epoch: tokenized_bleu 41.36,
bleu 41.34, last_tokenized_bleu 41.13, last_bleu 41.09; they report 41.02.
"""

from pathlib import Path

from keras_transformers.families import transformer
from zoo.registry.entry import Result, entry
from zoo.registry.recipe import AVERAGED, state_folder

MEASURE = "-m zoo train transformer_tiny --data DATA/multi30k_bpe --out FOLDER"
# Tokens as fairseq numbers them; it begins targets with the token that ends texts.
CONFIG = transformer(
    9_712, num_layers=4, num_heads=4, hidden_dim=128, intermediate_dim=256, max_length=256, dropout=0.3,
    position_layout="fairseq", pad_id=1, decoder_start_id=2, eos_ids=[2],
)  # fmt: skip
ENTRY = entry(
    __name__,
    summary="The Transformer-Tiny of Wu et al.: 4 + 4 layers of 128; sizes to train.",
    config=CONFIG,
    task="seq2seq_lm",
    parameters=2_568_192,
    licence="none",
    paper="https://arxiv.org/abs/2105.14462",
    results=tuple(
        Result("multi30k_bpe test2016", metric, value, MEASURE)
        for metric, value in {"tokenized_bleu": 41.36, "bleu": 41.34}.items()
    ),
)  # fmt: skip

FILES = ("train.en", "train.de", "test.2016.en", "test.2016.de")  # of the data


def train(data: Path, folder: Path, epochs: int = 133, seed: int = 1, verbose: int = 1) -> dict[str, float]:
    """Train from scratch for 8,000 updates (133 epochs of 60), resuming an interrupted run; measure test2016.

    The weights are the mean of the last ten epochs'; `last_` scores are for the weights of the last epoch.
    """
    import keras

    from keras_transformers.training.averaging import AverageEpochs
    from keras_transformers.training.metrics.text_scores import import_sacrebleu
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupInverseSqrt
    from keras_transformers.training.resuming.resume import Resume

    import_sacrebleu()  # now, rather than after hours
    keras.utils.set_random_seed(seed)
    task, english, german = make_task(data)
    dataset = task.dataset(english, german, batch_tokens=4096, accumulation_steps=2, seed=seed)
    rate = WarmupInverseSqrt(5e-3, 2000, initial=1e-7)
    adamw = AdamW(rate, weight_decay=0.0, clip_norm=25.0, accumulation_steps=2, beta_2=0.98, epsilon=1e-8)
    task.compile(adamw, metrics=[], jit_compile=True)
    resume = Resume(state_folder(folder), dataset, every=120)
    average = AverageEpochs(state_folder(folder) / AVERAGED, count=min(10, epochs))
    task.model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume, average])
    task.save(folder)
    results = measure(task, data)
    task.model.load_weights(average.files()[-1])
    return results | {f"last_{name}": value for name, value in measure(task, data).items()}


def make_task(data: Path, **options):
    """Return the task, with a joint vocabulary of both languages, and the English and German texts to train on."""
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

    english, german = (lines(data / f"train.{side}") for side in ("en", "de"))
    tokenizer = Tokenizer.train(english + german, model="words")
    generation = {"num_beams": 5, "early_stopping": True}  # fairseq ends a search so
    return Task("seq2seq_lm", CONFIG, tokenizer, generation=generation, **options), english, german


def measure(task, data: Path) -> dict[str, float]:
    """Return the BLEU of lower-cased words, as published, and sacreBLEU, both on test2016."""
    from keras_transformers.training.metrics.text_scores import bleu, tokenized_bleu

    texts = task.generate(lines(data / "test.2016.en"))
    references = [line.replace("@@ ", "") for line in lines(data / "test.2016.de")]
    return {"tokenized_bleu": tokenized_bleu(texts, references), "bleu": bleu(texts, references)}


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()
