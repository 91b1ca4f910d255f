"""Generation with prompt lookup beside generation without, in processor time, on texts that quote and on free ones.

    python benchmarks/prompt_lookup.py DATA [--cases quotes repeats free names] [--guesses 7] [--turns 3] [--rows 1]

`quotes`: a GPT-2 of the 124M size with random weights, whose head goes from each token to one next token. Its prompts
hold parts of that chain, so that it copies 8 to 24 tokens, goes on by itself for 2 to 8, and copies again, as a summary
or an answer that quotes. Its blocks work as in any other GPT-2; only the tokens that it chooses are known.
`repeats`: gpt_mini_en, greedy, on a paragraph that comes twice; it does not quote, but repeats itself.
`free`: gpt_mini_en, samples at temperature 1 after the first words of paragraphs.
`names`: transformer_mini_en_de on sentences of Tatoeba with a number and a name that the German one has, too.

DATA has `gutenberg_novels` and `tatoeba_deu_eng`. Turns are interleaved: read the ratios. It is checked that both texts
are the same. Tokens a pass are of one row at a time; passes without guesses count, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

VOCABULARY, PROMPT, NEW = 50257, 256, 96
FIRST = 0x10000  # the character of token 0


class Case:
    """A task, texts and options."""

    def __init__(self, task: Any, texts: list[str], **options: Any):
        self.task, self.texts, self.options = task, texts, options

    def run(self, rows: int, **guessed: Any) -> tuple[float, list[str], int]:
        """Return seconds of the processor, the texts and the number of new tokens; `guessed` are options of guesses."""
        begin = time.process_time()
        answers = self.task.predict(self.texts, batch_size=rows, verbose=0, num_beams=1, **guessed, **self.options)
        seconds = time.process_time() - begin
        return seconds, [answer["generated_text"] for answer in answers], sum(row["num_tokens"] for row in answers)

    def turns(self, prompt_lookup: int | None = None, draft: Any = None, draft_tokens: int | None = None) -> int:
        """Return how many turns the texts take, one row at a time."""
        answers, turns = self.task.parts.answers, 0
        decoding, _ = answers.decoding(1, 1, prompt_lookup, draft, draft_tokens)
        request = answers.request(1, parameters=self.options)
        for text in self.texts:
            state, rows, _ = answers.service.begin([text], request, decoding=decoding)
            while not state.finished.numpy().all():
                state, turns = answers.service._advance(decoding)(state, rows), turns + 1
        return turns


def quotes(data: Path) -> Case:
    """Return the model that copies, and prompts with what it copies."""
    import tokenizers

    from keras_transformers.families import gpt2
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

    words = {chr(FIRST + number): number for number in range(VOCABULARY - 1)}
    pair = chr(FIRST), chr(FIRST + 1)
    library = tokenizers.Tokenizer(tokenizers.models.BPE(words | {"".join(pair): VOCABULARY - 1}, [pair]))
    library.decoder = tokenizers.decoders.Fuse()
    sizes = {"num_heads": 12, "hidden_dim": 768, "max_length": 1024, "tie_embeddings": False}
    task = Task("causal_lm", gpt2(VOCABULARY, 12, **sizes), Tokenizer(library))

    order = np.random.default_rng(0).permutation(np.arange(2, VOCABULARY - 1))
    embeddings = np.random.default_rng(1).normal(size=(VOCABULARY, 768)).astype("float32")
    kernel = np.zeros((768, VOCABULARY), "float32")
    kernel[:, np.roll(order, -1)] = embeddings[order].T
    task.model.get_layer("token_embedding").embeddings.assign(embeddings)
    task.model.get_layer("lm_head").kernel.assign(kernel)
    return Case(task, [_quoted(order, np.random.default_rng(row), row) for row in range(4)], max_new_tokens=NEW)


def _quoted(order: np.ndarray, random: np.random.Generator, row: int) -> str:
    """Return a prompt with the parts of the next `NEW` tokens of the chain that are copied, in another order."""
    begin, parts, place = 200 + 500 * row, [], 200 + 500 * row
    while place < begin + NEW:
        length = random.integers(8, 25)
        parts.append(order[place : place + length])
        place += length + random.integers(2, 9)
    others = iter(random.permutation(order[3000:]))
    prompt = [token for part in random.permutation(np.array(parts, object)) for token in [*part, next(others)]]
    prompt = [*(next(others) for _ in range(max(PROMPT - len(prompt) - 1, 0))), *prompt, order[begin - 1]]
    return "".join(chr(FIRST + int(token)) for token in prompt)


def _paragraphs(data: Path) -> list[str]:
    lines = (data / "gutenberg_novels" / "valid.txt").read_text(encoding="utf-8").split("\n")
    return [line.strip() for line in lines if 300 < len(line) < 420][::24][:6]


def repeats(data: Path) -> Case:
    """Return gpt_mini_en on paragraphs that come again."""
    import zoo

    texts = [f"{text}\n{' '.join(text.split()[:12])}" for text in _paragraphs(data)]
    return Case(zoo.load("gpt_mini_en"), texts, max_new_tokens=NEW)


def free(data: Path) -> Case:
    """Return gpt_mini_en on the first words of paragraphs."""
    import zoo

    texts = [" ".join(text.split()[:25]) for text in _paragraphs(data)]
    return Case(zoo.load("gpt_mini_en"), texts, max_new_tokens=NEW, temperature=1.0, seed=1)


def names(data: Path) -> Case:
    """Return transformer_mini_en_de on sentences with a number and a name that are the same in German."""
    import zoo

    lines = (data / "tatoeba_deu_eng" / "deu.txt").read_text(encoding="utf-8").splitlines()
    chosen = [english for english, german, *_ in (line.split("\t") for line in lines) if _shares(english, german)]
    return Case(zoo.load("transformer_mini_en_de"), chosen[:: max(1, len(chosen) // 40)][:40], max_new_tokens=60)


def _shares(english: str, german: str) -> bool:
    words = [word.strip('.,!?"') for word in english.split()[1:]]
    shared = [word for word in words if word and word in german]
    return any(word[0].isdigit() for word in shared) and any(word[0].isupper() and len(word) > 3 for word in shared)


CASES: dict[str, Callable[[Path], Case]] = {"quotes": quotes, "repeats": repeats, "free": free, "names": names}


def compare(name: str, case: Case, rows: int, guesses: int, turns: int) -> str:
    """Return the line of a case."""
    (_, texts, tokens), (_, same, _) = case.run(rows), case.run(rows, prompt_lookup=guesses)
    equal = sum(text == other for text, other in zip(texts, same, strict=True))
    seconds: dict[int | None, list[float]] = {None: [], guesses: []}
    for _ in range(turns):
        for number, times in seconds.items():
            times.append(case.run(rows, prompt_lookup=number)[0])
    without, with_guesses = (tokens / statistics.median(times) for times in seconds.values())
    passes = case.turns(prompt_lookup=guesses)
    return (
        f"{name:8} rows {rows:2} guesses {guesses}: {with_guesses:7.1f} tokens a second of the processor, without "
        f"{without:7.1f}, ratio {with_guesses / without:.2f}; {tokens / passes:.2f} tokens a pass; "
        f"{equal} of {len(texts)} texts equal"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--guesses", type=int, nargs="+", default=[7])
    parser.add_argument("--rows", type=int, nargs="+", default=[1])
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    for name in arguments.cases:
        case = CASES[name](arguments.data)
        for rows in arguments.rows:
            for guesses in arguments.guesses:
                print(compare(name, case, rows, guesses, arguments.turns), flush=True)


if __name__ == "__main__":
    main()
