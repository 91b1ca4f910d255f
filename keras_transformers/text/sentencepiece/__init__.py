"""SentencePiece models: their files, and the tokenizers made of them."""
