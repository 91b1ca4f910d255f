"""A few sentences, for tokenizers that are trained in a test."""

CORPUS = [
    "The cat danced on the table, and the dog sat under it.",
    "A dancing cat is a happy cat; a sitting dog is not unhappy.",
    "Dogs and cats can't be friends, she said. Can they?",
]
