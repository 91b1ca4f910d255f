"""GTE v1.5 base, English: sentence embeddings of 768 numbers, of up to 8192 tokens."""

from keras_transformers.families import gte
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="GTE v1.5 base, English: sentence embeddings of 768 numbers, of up to 8192 tokens.",
    config=gte(30_528, num_layers=12, num_heads=12, hidden_dim=768, num_segments=0, pad_id=0, max_wavelength=500_000.0),
    task="sentence_embedding",
    parameters=136_776_192,
    licence="Apache-2.0",
    source="hf:Alibaba-NLP/gte-base-en-v1.5",
    paper="https://arxiv.org/abs/2407.19669",
)
