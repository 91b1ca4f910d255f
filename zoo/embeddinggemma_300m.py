"""EmbeddingGemma, over 100 languages: sentence embeddings of 768 numbers, of up to 2048 tokens."""

from keras_transformers.families import gemma3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="EmbeddingGemma, over 100 languages: sentence embeddings of 768 numbers, of up to 2048 tokens.",
    config=gemma3(
        262_144,
        num_layers=24,
        num_heads=3,
        num_kv_heads=1,
        head_dim=256,
        hidden_dim=768,
        intermediate_dim=1152,
        max_length=2048,
        kind="encoder",
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="sentence_embedding",
    parameters=302_863_104,
    licence="Gemma",
    terms="https://ai.google.dev/gemma/terms",
    source="hf:google/embeddinggemma-300m",
    paper="https://arxiv.org/abs/2509.20354",
)
