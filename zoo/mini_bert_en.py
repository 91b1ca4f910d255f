"""mini_bert_en, the bundled encoder: 4 layers of 256, pre-trained here on 15 English novels.

    python -m zoo train mini_bert_en --data DATA/gutenberg_novels --out FOLDER

`DATA/gutenberg_novels` holds train.txt and valid.txt: one paragraph per line, `= Title =` before each book.
"""

from pathlib import Path

from keras_transformers.families import bert
from zoo.registry.entry import Result, entry
from zoo.registry.recipe import state_folder

MEASURE = "-m zoo evaluate mini_bert_en --data DATA/gutenberg_novels/valid.txt"
TUNED = "benchmarks/encoder_tasks.py DATA LOG --models mini_bert_en --sets {} --seeds 0"
# BERT's 0.02 is for a width of 768; a narrower model starts with larger weights, or attention stays flat for long.
CONFIG = bert(8_192, num_layers=4, num_heads=4, hidden_dim=256, max_length=128, initializer_range=0.035)
ENTRY = entry(
    __name__,
    summary="BERT mini with a vocabulary of 8,192, pre-trained on 2.4 M words of English novels.",
    config=CONFIG,
    task="pretraining",
    parameters=5_355_776,
    licence="Apache-2.0",
    source="bundled",
    paper="https://arxiv.org/abs/1810.04805",
    results=(
        Result("gutenberg_novels valid", "masked_lm_logits_accuracy", 0.3234, MEASURE),
        Result("gutenberg_novels valid", "masked_lm_logits_perplexity", 57.86, MEASURE),
        Result("gutenberg_novels valid", "next_sentence_logits_accuracy", 0.7743, MEASURE),
        Result("stsb test", "spearman", 0.447, TUNED.format('"stsb untuned"')),
        Result("sample_messages test", "accuracy", 0.6227, TUNED.format("messages") + " 1 2", 3, 0.0313),
        Result("sst2 test", "accuracy", 0.7408, TUNED.format("sst2") + " 1 2", 3, 0.01, 3.9),
        Result("banking77 test", "accuracy", 0.8694, TUNED.format("banking77") + " 1 2", 3, 0.0096, 6.4),
        Result("stsb test, fine-tuned", "pearson", 0.6119, TUNED.format("stsb") + " 1 2", 3, 0.0022, 6.5),
        Result("ud_ewt test", "accuracy", 0.9283, TUNED.format("ud_ewt") + " 1 2", 3, 0.0005, 6.4),
        Result("wnut17 test", "f1", 0.1047, TUNED.format("wnut17") + " 1 2", 3, 0.003, 4.1),
        Result("squad_v1.1 dev", "f1", 14.653, TUNED.format("squad") + " 1", 2, 1.8362, 50.7),
    ),
    fit={"epochs": 12, "learning_rate": 1e-3},
)

FILES = ("train.txt", "valid.txt")  # of the data


def train(data: Path, folder: Path, epochs: int = 3, seed: int = 1, verbose: int = 1) -> dict[str, float]:
    """Pre-train from scratch, resuming an interrupted run; write the folder that is bundled; measure held-out text."""
    import keras

    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupLinear
    from keras_transformers.training.resuming.resume import Resume
    from zoo.registry.near_start import attend_nearby

    keras.utils.set_random_seed(seed)
    with open(data / "train.txt", encoding="utf-8") as lines:
        tokenizer = Tokenizer.train(map(str.strip, lines), CONFIG.vocabulary_size)
    # No dropout: in a few passes over the text, each masked anew, so small a model underfits.
    task = Task("pretraining", CONFIG.replace(dropout=0.0, attention_dropout=0.0), tokenizer, dtype="mixed_bfloat16")
    attend_nearby(task.model, CONFIG)
    dataset = task.dataset(data / "train.txt", batch_size=32, seed=seed, short_probability=0.9, drop_remainder=True)
    steps = epochs * dataset.num_batches
    task.compile(AdamW(WarmupLinear(1e-3, steps // 15, steps), beta_2=0.98))
    resume = Resume(state_folder(folder), dataset, every=500)
    task.model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume])
    task.config = CONFIG  # fine-tuning has dropout again
    task.save(folder, dtype="float16")
    return measure(task, data)


def measure(task, data: Path) -> dict[str, float]:
    """Return metrics on held-out text."""
    return task.evaluate(data / "valid.txt")
