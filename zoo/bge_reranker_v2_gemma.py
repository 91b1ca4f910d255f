"""bge-reranker-v2-gemma, many languages: ranks passages for a query by the logit of Yes, 18 layers of 2048."""

from keras_transformers.families import gemma
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="bge-reranker-v2-gemma, many languages: ranks passages for a query by the logit of Yes, 18 layers of 2048.",
    config=gemma(
        256_000,
        num_layers=18,
        num_heads=8,
        num_kv_heads=1,
        head_dim=256,
        hidden_dim=2048,
        intermediate_dim=16_384,
        pad_id=0,
        bos_id=2,
        eos_ids=(1,),
    ),
    task="ranking",
    parameters=2_506_172_416,
    licence="Gemma",
    # The text of the card (BAAI/bge-reranker-v2-gemma): its files have none.
    options={
        "score_tokens": ["Yes"],
        "pair_template": {
            "prefix": "<bos>",
            "text": "A: {query}",
            "pair": "\nB: {document}",
            "suffix": (
                "\nGiven a query A and a passage B, determine whether the passage contains an answer to the query by "
                "providing a prediction of either 'Yes' or 'No'."
            ),
        },
    },
    source="hf:BAAI/bge-reranker-v2-gemma",
    paper="https://arxiv.org/abs/2402.03216",
)
