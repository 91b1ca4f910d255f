"""A vocabulary of whole words, for text that is already split into words or parts of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from keras_transformers.text.sentencepiece.sentencepiece_pipeline import END, PAD, UNKNOWN_TOKEN, end_texts
from keras_transformers.text.vocabularies.pieces import LAST_SPACE

SPECIAL_TOKENS = ("<s>", PAD, END, UNKNOWN_TOKEN)  # fairseq's order
JOINT = "@@ "  # what subword-nmt puts between the parts of a word


def train(texts: Iterable[str], size: int | None, special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Give ids to the special tokens, then to words by frequency; equally frequent words by code points."""
    absent = {END, UNKNOWN_TOKEN}.difference(special_tokens)
    if absent:
        raise ValueError(
            f"A vocabulary of words has the special tokens {END} and {UNKNOWN_TOKEN}: {absent} are absent."
        )
    splitter = pre_tokenizers.WhitespaceSplit()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in splitter.pre_tokenize_str(text))

    words = sorted(counts.keys() - set(special_tokens), key=lambda word: (-counts[word], word))
    if not words:
        raise ValueError("The corpus holds no word. Expected an iterable of non-empty str.")

    kept = [*special_tokens, *words][:size]
    library = tokenizers.Tokenizer(models.WordLevel({word: i for i, word in enumerate(kept)}, unk_token=UNKNOWN_TOKEN))
    library.pre_tokenizer = splitter
    # A space after each word, none between the parts of a word, none at the end.
    steps = [
        decoders.Replace(Regex(r"\z"), " "),
        decoders.Replace(JOINT, ""),
        decoders.Fuse(),
        decoders.Replace(Regex(LAST_SPACE), ""),
    ]
    library.decoder = decoders.Sequence(steps)
    library.add_special_tokens(list(special_tokens))
    end_texts(library, pair=f"$A {END} $B {END}")
    return library
