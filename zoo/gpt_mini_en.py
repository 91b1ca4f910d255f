"""gpt_mini_en, the bundled decoder: 4 layers of 256, trained here on 15 English novels.

    python -m zoo train gpt_mini_en --data DATA/gutenberg_novels --out FOLDER

`DATA/gutenberg_novels` holds train.txt and valid.txt: one paragraph per line, `= Title =` before each book.
"""

from pathlib import Path

from keras_transformers.families import gpt2
from zoo.registry.entry import Result, entry
from zoo.registry.recipe import state_folder

MEASURE = "-m zoo train gpt_mini_en --data DATA/gutenberg_novels --out FOLDER"
# GPT-2's 0.02 is for a width of 768; a narrower model starts with larger weights.
CONFIG = gpt2(
    4_096, num_layers=4, num_heads=4, hidden_dim=256, max_length=256, initializer_range=0.035, eos_ids=[0], bos_id=0
)
ENTRY = entry(
    __name__,
    summary="GPT-2 in small, with a vocabulary of 4,096, trained on 2.4 M words of English novels.",
    config=CONFIG,
    task="causal_lm",
    parameters=4_273_664,
    licence="Apache-2.0",
    source="bundled",
    paper="https://openai.com/index/better-language-models",
    results=(
        Result("gutenberg_novels valid", "accuracy", 0.211, MEASURE),
        Result("gutenberg_novels valid", "cross_entropy", 4.333, MEASURE),
        Result("gutenberg_novels valid", "perplexity", 76.2, MEASURE),
    ),
)

FILES = ("train.txt", "valid.txt")  # of the data


def train(data: Path, folder: Path, epochs: int = 2, seed: int = 1, verbose: int = 1) -> dict[str, float]:
    """Train from scratch, resuming an interrupted run; write the folder that is bundled; measure held-out text."""
    import keras

    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupCosine
    from keras_transformers.training.resuming.resume import Resume

    keras.utils.set_random_seed(seed)
    books = _books(data / "train.txt")
    tokenizer = Tokenizer.train(books, CONFIG.vocabulary_size, model="byte_pair")
    # No dropout: in a few passes over the text so small a model underfits.
    config = CONFIG.replace(dropout=0.0, attention_dropout=0.0)
    task = Task("causal_lm", config, tokenizer, dtype="mixed_bfloat16")
    dataset = task.dataset(books, packing="blocks", batch_size=16, seed=seed, drop_remainder=True)
    steps = epochs * dataset.num_batches
    # Every batch has the same shape, and so small a model gains by XLA.
    task.compile(AdamW(WarmupCosine(2e-3, steps // 20, steps), weight_decay=0.1, beta_2=0.98), jit_compile=True)
    resume = Resume(state_folder(folder), dataset, every=500)
    task.model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume])
    task.config = CONFIG  # fine-tuning has dropout again
    task.save(folder, dtype="float16")
    return measure(task, data)


def measure(task, data: Path) -> dict[str, float]:
    """Return metrics on held-out books, in blocks of the model's length."""
    return task.evaluate(_books(data / "valid.txt"), dataset_options={"packing": "blocks"})


def _books(path: Path) -> list[str]:
    """Return the books of a file, without their titles, one paragraph per line."""
    import re

    return [
        book.strip() for book in re.split(r"^= .* =$", path.read_text(encoding="utf-8"), flags=re.M) if book.strip()
    ]
