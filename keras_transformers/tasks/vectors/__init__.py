"""Parts of sentence embeddings: prompts, options, signatures, labels of groups, and vectors of few bits."""
