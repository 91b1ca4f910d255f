"""mmBERT base, 1800 languages: texts of up to 8192 tokens, 22 layers of 768."""

from keras_transformers.families import modernbert
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="mmBERT base, 1800 languages: texts of up to 8192 tokens, 22 layers of 768.",
    config=modernbert(
        256_000,
        num_layers=22,
        num_heads=12,
        hidden_dim=768,
        intermediate_dim=1152,
        local_wavelength=160_000.0,
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="masked_lm",
    parameters=306_939_648,
    licence="MIT",
    source="hf:jhu-clsp/mmBERT-base",
    paper="https://arxiv.org/abs/2509.06888",
)
