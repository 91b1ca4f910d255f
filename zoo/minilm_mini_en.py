"""minilm_mini_en, the bundled sentence encoder: 4 layers of 384, cut out of all-MiniLM-L6-v2 and taught by it here.

    python -m zoo train minilm_mini_en --data DATA --out FOLDER

`DATA` holds the folders tatoeba_deu_eng, gutenberg_novels, banking77 and wnut17 with their files for training, and stsb
to measure with. The teacher is downloaded, unless `DATA` holds it too, as all-MiniLM-L6-v2.
"""

from pathlib import Path

from keras_transformers.families import bert
from zoo.registry.entry import Result, entry
from zoo.registry.recipe import state_folder

LAYERS = (0, 2, 4, 5)  # the teacher's, whose weights the student starts with
STATES = 0.03  # weight of the loss of token states, whose vectors have a length of about 7
LONGEST = 128  # tokens of a text
MEASURE = "-m zoo train minilm_mini_en --data DATA --out FOLDER"
TUNED = "benchmarks/encoder_tasks.py DATA LOG --models minilm_mini_en --sets {} --seeds 0"
CONFIG = bert(30_522, num_layers=4, num_heads=12, hidden_dim=384, max_length=256)
ENTRY = entry(
    __name__,
    summary="MiniLM in small: sentence embeddings of 384 numbers, and a start for fine-tuning; 4 layers.",
    config=CONFIG,
    task="sentence_embedding",
    parameters=19_065_984,
    licence="Apache-2.0",
    source="bundled",
    paper="https://arxiv.org/abs/2002.10957",
    results=(
        Result("stsb test", "spearman", 0.817, MEASURE),
        Result("sample_messages test", "accuracy", 0.956, TUNED.format("messages") + " 1 2", 3, 0.004),
        Result("sst2 test", "accuracy", 0.8852, TUNED.format("sst2") + " 1 2", 3, 0.0038, 6.6),
        Result("banking77 test", "accuracy", 0.9308, TUNED.format("banking77") + " 1 2", 3, 0.002, 11.9),
        Result("stsb test, fine-tuned", "pearson", 0.8568, TUNED.format("stsb") + " 1 2", 3, 0.0011, 10.1),
        Result("ud_ewt test", "accuracy", 0.9607, TUNED.format("ud_ewt") + " 1 2", 3, 0.0005, 11.4),
        Result("wnut17 test", "f1", 0.328, TUNED.format("wnut17") + " 1 2", 3, 0.0079, 6.8),
        Result("squad_v1.1 dev", "f1", 59.898, TUNED.format("squad") + " 1 2", 3, 0.3763, 66.7),
    ),
    fit={"epochs": 10, "learning_rate": 3e-4},
)

FILES = (  # of the data
    "tatoeba_deu_eng/deu.txt", "gutenberg_novels/train.txt", "banking77/train.csv", "wnut17/wnut17train.conll",
    "stsb/sts-test.csv",
)  # fmt: skip


def train(data: Path, folder: Path, epochs: int = 2, seed: int = 1, verbose: int = 1) -> dict[str, float]:
    """Cut the student out of its teacher and teach it, resuming an interrupted run; write its folder; measure it.

    The student learns the teacher's vectors of texts, and the states of their tokens in the last layer. Its folder is
    in 8 bits, so that it holds the teacher's whole vocabulary.
    """
    import keras

    import zoo
    from keras_transformers.data.batches.pipeline import batches
    from keras_transformers.data.sources.rows import Rows
    from keras_transformers.tasks import Task
    from keras_transformers.training.resuming.resume import Resume
    from zoo.registry.distill import Teaching, cut_weights

    keras.utils.set_random_seed(seed)
    texts = read_texts(data)
    teacher = data / "all-MiniLM-L6-v2"
    teacher_name = teacher if teacher.is_dir() else "minilm_l6_en"
    source = zoo.load(teacher_name, "sentence_embedding", outputs=["hidden_states"])
    # No dropout: in two passes, so small a model underfits.
    config = CONFIG.replace(dropout=0.0, attention_dropout=0.0)
    task = Task("sentence_embedding", config, source.tokenizer, loss="regression", outputs=["hidden_states"])
    cut_weights(task.model, source.model, LAYERS)

    rows = Rows.of([row.ids for row in source.tokenizer.encode(texts, max_length=LONGEST)])
    dataset = batches(rows, Teaching(_teach(source)), batch_tokens=2048, max_length=LONGEST, seed=seed)
    model = _compiled(task, epochs * len(dataset))
    resume = Resume(state_folder(folder), dataset, every=250)
    model.fit(dataset, epochs=epochs, verbose=verbose, shuffle=False, callbacks=[resume])
    task.config = CONFIG  # fine-tuning has dropout again
    task.save(folder, dtype="float8_e4m3fn")
    return measure(zoo.load(folder), data)


def measure(task, data: Path) -> dict[str, float]:
    """Return the correlation of cosines and scores on STS-B's test part, which the student does not learn from."""
    from keras_transformers.training.metrics.embedding_metrics import spearman

    rows = [line.split("\t") for line in (data / "stsb" / "sts-test.csv").read_text(encoding="utf-8").splitlines()]
    similar = task.predict([row[5] for row in rows], [row[6] for row in rows])
    return {"spearman": spearman([row["similarity"] for row in similar], [float(row[4]) for row in rows])}


def read_texts(data: Path) -> list[str]:
    """Return what the student reads: sentences, whole paragraphs, requests and short messages, each once."""
    import csv

    from keras_transformers.data.sources.documents import read_documents

    def lines(name: str) -> list[str]:
        return (data / name).read_text(encoding="utf-8").splitlines()

    sentences = [line.split("\t")[0] for line in lines("tatoeba_deu_eng/deu.txt")]
    paragraphs = lines("gutenberg_novels/train.txt")[::4]
    novels = [sentence for document in read_documents(data / "gutenberg_novels/train.txt") for sentence in document]
    with open(data / "banking77/train.csv", encoding="utf-8", newline="") as rows:
        requests = [row["text"] for row in csv.DictReader(rows)]
    words = [line.partition("\t")[0] for line in lines("wnut17/wnut17train.conll")]  # blank between messages
    messages = [" ".join(message.split("\n")) for message in "\n".join(words).split("\n\n")]
    texts = (text.strip() for text in (*sentences, *novels, *paragraphs, *requests, *messages))
    return list(dict.fromkeys(filter(None, texts)))


def _teach(teacher):
    """Return a function, traced once, from the inputs to the teacher's outputs."""
    import tensorflow as tf

    model = teacher.parts.answers.model

    @tf.function(input_signature=[{name: tf.TensorSpec([None, None], tf.int32) for name in model.input}])
    def teach(inputs):
        return model(inputs, training=False)

    return teach


def _compiled(task, steps: int):
    """Return the student's model of texts, with two outputs to learn, compiled for a number of steps."""
    from keras_transformers.training.losses.embedding_losses import VectorDistance
    from keras_transformers.training.metrics.embedding_metrics import MeanCosine
    from keras_transformers.training.optimizers.adamw import AdamW
    from keras_transformers.training.optimizers.schedules import WarmupLinear

    model = task.parts.answers.model
    model.compile(
        AdamW(WarmupLinear(5e-4, steps // 20, steps), weight_decay=0.01, clip_norm=1.0),
        loss={"embedding": VectorDistance(), "hidden_states": VectorDistance()},
        loss_weights={"embedding": 1.0, "hidden_states": STATES},
        metrics={"embedding": [MeanCosine()], "hidden_states": [MeanCosine()]},
        jit_compile=False,
    )
    return model
