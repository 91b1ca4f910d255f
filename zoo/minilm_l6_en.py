"""all-MiniLM-L6-v2, English, lower-case: sentence embeddings, 6 layers of 384."""

from keras_transformers.families import bert
from zoo.registry.entry import Result, entry

TUNED = "benchmarks/encoder_tasks.py DATA LOG --models minilm_l6_en --sets {} --seeds 0"

ENTRY = entry(
    __name__,
    summary="all-MiniLM-L6-v2, English, lower-case: sentence embeddings of 384 numbers, 6 layers.",
    config=bert(30_522, num_layers=6, num_heads=12, hidden_dim=384),
    task="sentence_embedding",
    parameters=22_713_216,
    licence="Apache-2.0",
    source="hf:sentence-transformers/all-MiniLM-L6-v2",
    paper="https://arxiv.org/abs/2002.10957",
    results=(
        Result("stsb test", "spearman", 0.8203, TUNED.format('"stsb untuned"')),
        Result("sample_messages test", "accuracy", 0.9537, TUNED.format("messages") + " 1 2", 3, 0.0145),
        Result("sst2 test", "accuracy", 0.8876, TUNED.format("sst2") + " 1 2", 3, 0.0042, 9.5),
        Result("banking77 test", "accuracy", 0.9279, TUNED.format("banking77") + " 1 2", 3, 0.002, 17.2),
        Result("stsb test, fine-tuned", "pearson", 0.8603, TUNED.format("stsb") + " 1 2", 3, 0.002, 14.5),
        Result("ud_ewt test", "accuracy", 0.9654, TUNED.format("ud_ewt") + " 1 2", 3, 0.0012, 16.9),
        Result("wnut17 test", "f1", 0.3637, TUNED.format("wnut17") + " 1 2", 3, 0.0075, 9.9),
        Result("squad_v1.1 dev", "f1", 72.5492, TUNED.format("squad") + " 1", 2, 0.2629, 100.8),
    ),
)
