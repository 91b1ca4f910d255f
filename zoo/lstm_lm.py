"""An LSTM language model of the parameters of gpt_mini_en; sizes to train.

    task = zoo.load("lstm_lm", weights=False)

It reads and writes the tokens of gpt_mini_en.
"""

from keras_transformers.families import recurrent
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="An LSTM language model, to compare with gpt_mini_en: 2 LSTMs of 496.",
    config=recurrent(4_096, num_layers=2, hidden_dim=256, intermediate_dim=496, max_length=256, eos_ids=[0], bos_id=0),
    task="causal_lm",
    parameters=4_292_480,
    licence="none",
    paper="https://arxiv.org/abs/1409.2329",
    tokenizer="gpt_mini_en",
)
