"""`generate`: continuations of prompts, printed as they come; or a translation of each line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from zoo.cli.app import app, examples
from zoo.cli.data import given
from zoo.terminal.options import Encoding, Errors, MaxLength, Model, Prefix, of_data, of_model, of_writing, readable

Temperature = Annotated[
    float | None,
    of_writing(
        help="Sampling temperature: 1 for the model's probabilities, 0 (or omitted) for the likeliest token.", min=0.0
    ),
]
MaxNewTokens = Annotated[
    int | None, of_writing(help="Maximum number of tokens to generate. If omitted, the model's default.", min=1)
]
TopK = Annotated[int | None, of_writing(help="Sample from this many likeliest tokens; 0 for all.", min=0)]
TopP = Annotated[float | None, of_writing(help="Sample from the likeliest tokens with this total probability.")]
Penalty = Annotated[
    float | None, of_writing(help="Penalty for tokens that already occurred; values above 1 make them less likely.")
]
Seed = Annotated[int | None, of_writing(help="Random seed for sampling.")]
Stop = Annotated[
    list[str] | None, of_writing(help="Stop string: generation ends before its first occurrence; repeatable.")
]
NumBeams = Annotated[
    int | None, of_writing(help="Number of beams; above 1 for beam search. If omitted, the model's default.", min=1)
]


@app.command(
    epilog=examples(
        'generate gpt_mini_en "It was a dark night, and"',
        'generate gpt_mini_en "Mr. Darcy" --temperature 0.8 --top-k 40 --seed 1 --max-new-tokens 100',
        "generate runs/stories --num-beams 4 < prompts.txt",
        "generate opus_mt_en_de --file english.txt > german.txt",
    )
)
def generate(
    model: Model,
    texts: Annotated[
        list[str] | None, Argument(help="Prompts, or texts to translate. If omitted, --file or the lines of stdin.")
    ] = None,
    file: Annotated[Path | None, of_data(callback=readable, help="Text file, one prompt per line.")] = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    prefix: Prefix = None,
    max_new_tokens: MaxNewTokens = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    repetition_penalty: Penalty = None,
    seed: Seed = None,
    stop: Stop = None,
    num_beams: NumBeams = None,
    max_length: MaxLength = None,
    dtype: Annotated[str | None, of_model(help="A Keras dtype policy, such as bfloat16.")] = None,
) -> None:
    """Continue prompts, or translate texts; print the result while it is generated."""
    options = {
        "prefix": prefix,
        "max_new_tokens": max_new_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p,
        "repetition_penalty": repetition_penalty, "seed": seed, "stop": stop, "num_beams": num_beams,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    prompts = given(texts or [], file, encoding, errors)
    from zoo.loading.load import load

    task = load(model, max_length=max_length, dtype=dtype)
    if not task.kind.writes_text:
        raise ValueError(f"{model} is made for {task.name}, which writes no text: generate needs a language model.")
    (rewrite if task.kind.needs_labels else go_on)(task, prompts, options)


def rewrite(task: Any, lines: list[str], options: dict[str, Any]) -> None:
    """Print a line for each line; blank ones stay blank. Errors and cut lines are told on stderr."""
    from keras_transformers.generation.prompts import BLANK

    failed = 0
    for number, answer in enumerate(task.predict_stream(lines, **options), 1):
        print(" ".join(answer["generated_text"].split("\n")), flush=True)
        if answer["error"] and answer["error"] not in BLANK:
            failed += 1
            print(f"line {number}: {answer['error']}", file=sys.stderr)
        elif answer["truncated"]:
            print(f"line {number}: cut to {task.max_length} tokens.", file=sys.stderr)
    if failed:
        raise ValueError(f"{failed} of {len(lines)} lines could not be answered.")


def go_on(task: Any, prompts: list[str], options: dict[str, Any]) -> None:
    """Print each prompt and its continuation; without beams, piece by piece."""
    for prompt in prompts:
        has_beams = options.get("num_beams", task.generation.get("num_beams", 1)) > 1
        without_beams = {name: value for name, value in options.items() if name != "num_beams"}
        pieces = task.generate([prompt], **options) if has_beams else task.stream(prompt, **without_beams)
        print(prompt, end="", flush=True)  # after the options have been checked
        for piece in pieces:
            print(piece, end="", flush=True)
        print(flush=True)
