"""An RNN encoder-decoder without attention, of the parameters of transformer_mini_en_de; sizes to train.

    task = zoo.load("rnn_seq2seq", weights=False)

It reads and writes the tokens of transformer_mini_en_de. All that the decoder knows of a source are the states that it
begins with, as in Sutskever et al. 2014 and Cho et al. 2014.
"""

from keras_transformers.families import recurrent
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="An RNN encoder-decoder without attention, to compare with transformer_mini_en_de: 2 + 2 LSTMs of 328.",
    config=recurrent(
        5_120, num_layers=2, hidden_dim=256, intermediate_dim=328, max_length=128, kind="encoder_decoder",
        cross_attention=False, output_bias=True, pad_id=0, eos_ids=[1],
    ),
    task="seq2seq_lm",
    parameters=5_063_072,
    licence="none",
    paper="https://arxiv.org/abs/1409.3215",
    tokenizer="transformer_mini_en_de",
)  # fmt: skip
