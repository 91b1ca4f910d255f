"""An RNN encoder-decoder with attention, of the parameters of transformer_mini_en_de; sizes to train.

    task = zoo.load("rnn_attention_seq2seq", weights=False)

It reads and writes the tokens of transformer_mini_en_de. The encoder reads from both ends, as in Bahdanau et al. 2014;
attention, of one head, stands behind each LSTM of the decoder, as in Luong et al. 2015.
"""

from keras_transformers.families import recurrent
from zoo.registry.entry import entry

ENTRY = entry(
    __name__,
    summary="An RNN encoder-decoder with attention, to compare with transformer_mini_en_de: 2 + 2 LSTMs of 344.",
    config=recurrent(
        5_120, num_layers=2, hidden_dim=256, intermediate_dim=344, max_length=128, kind="encoder_decoder",
        output_bias=True, pad_id=0, eos_ids=[1],
    ),
    task="seq2seq_lm",
    parameters=5_034_112,
    licence="none",
    paper="https://arxiv.org/abs/1409.0473",
    tokenizer="transformer_mini_en_de",
)  # fmt: skip
