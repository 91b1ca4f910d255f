"""OPUS-MT, English to German: Marian, 6 + 6 layers of 512."""

from keras_transformers.families import marian
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="OPUS-MT, English to German: Marian, 6 + 6 layers of 512.",
    config=marian(58_101),
    task="seq2seq_lm",
    parameters=73_944_309,
    licence="CC-BY-4.0",
    source="hf:Helsinki-NLP/opus-mt-en-de",
    paper="https://aclanthology.org/2020.eamt-1.61",
    pickled=True,
)
