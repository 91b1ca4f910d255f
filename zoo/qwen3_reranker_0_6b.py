"""Qwen 3 Reranker 0.6B, 100 languages: ranks passages for a query by the logits of yes and no."""

from keras_transformers.families import qwen3
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="Qwen 3 Reranker 0.6B, 100 languages: ranks passages for a query by the logits of yes and no.",
    config=qwen3(
        151_669,
        num_layers=28,
        num_heads=16,
        num_kv_heads=8,
        hidden_dim=1024,
        intermediate_dim=3072,
        head_dim=128,
        max_wavelength=1_000_000.0,
        tie_embeddings=True,
        bos_id=151_643,
        eos_ids=(151_645,),
    ),
    task="ranking",
    parameters=595_776_512,
    licence="Apache-2.0",
    # The text of the card (Qwen/Qwen3-Reranker-0.6B), for files that have no template of their own.
    options={
        "score_tokens": ["yes", "no"],
        "activation": "sigmoid",
        "pair_template": {
            "prefix": (
                "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
                'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
            ),
            "text": "<Instruct>: {prompt}\n<Query>: {query}\n<Document>: {document}",
            "suffix": "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
            "instruction": "Given a web search query, retrieve relevant passages that answer the query",
        },
    },
    source="hf:Qwen/Qwen3-Reranker-0.6B",
    paper="https://arxiv.org/abs/2506.05176",
)
