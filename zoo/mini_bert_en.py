"""mini_bert_en, the bundled encoder: 4 layers of 256, pre-trained here on 15 English novels.

    python -m zoo train mini_bert_en --data DATA/gutenberg_novels --out FOLDER

`DATA/gutenberg_novels` holds train.txt and valid.txt: a paragraph a line, `= Title =` before each book.
"""

from pathlib import Path

from keras_transformers.families import bert
from keras_transformers.tasks import PretrainingTask
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.optimizer import AdamW
from keras_transformers.training.resume import Resume
from keras_transformers.training.schedules import WarmupLinear
from zoo._entry import entry

ENTRY = entry(
    __name__,
    summary="BERT mini with a vocabulary of 8,192, pre-trained on 2.4 M words of English novels.",
    config=bert(8_192, num_layers=4, num_heads=4, hidden_dim=256, max_length=256),
    task="pretraining",
    parameters=5_388_544,
    licence="Apache-2.0",
    source="bundled",
    paper="https://arxiv.org/abs/1810.04805",
)
STEPS, EPOCHS = 5_000, 6  # 842 steps an epoch; the rate is zero after STEPS


def train(data: Path, folder: Path, epochs: int = EPOCHS, steps: int = STEPS) -> dict[str, float]:
    """Pre-train from scratch, resuming what was interrupted, and write the folder that is bundled."""
    with open(data / "train.txt", encoding="utf-8") as lines:
        tokenizer = Tokenizer.train(map(str.strip, lines), ENTRY.config.vocabulary_size)
    # No dropout: at six passes over the text, each masked anew, the model underfits.
    config = ENTRY.config.replace(dropout=0.0, attention_dropout=0.0)
    task = PretrainingTask(config, tokenizer, dtype="mixed_bfloat16")
    task.compile(AdamW(WarmupLinear(1e-3, steps // 15, steps)))
    dataset = task.dataset(data / "train.txt", batch_size=32, seed=1, short_probability=0.9, drop_remainder=True)
    task.model.fit(dataset, epochs=epochs, callbacks=[Resume(folder.with_name(folder.name + ".resume"), dataset)])
    task.config = ENTRY.config  # fine-tuning has dropout again
    task.save(folder, dtype="float16")
    return task.evaluate(data / "valid.txt")
