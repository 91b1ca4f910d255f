"""`explore`: how a model processes a text, on a local web page or in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from keras_transformers.utils.safe_files import no_room_as_error, replace_file
from zoo.cli.app import app, examples
from zoo.cli.data import read_lines
from zoo.terminal.options import Encoding, Errors, MaxLength, Model, TaskName, of_data, of_model, of_output, of_writing

if TYPE_CHECKING:
    from keras_transformers.analysis.explorer.view import View
    from keras_transformers.tasks import Task

MOST_BYTES = 1_000_000
Changed = Annotated[str | None, of_data(help="Changed version of the text, shown in comparison.")]
Pair = Annotated[str | None, of_data(help="Second text, for tasks on pairs of texts.")]
Among = Annotated[Path | None, of_data(help="File of texts to search in, one text per line (sentence_embedding).")]
Without = Annotated[
    str, of_model(help="Attention heads to switch off, as LAYER.HEAD, counted from 0.", metavar="L.H ...")
]
NewTokens = Annotated[int, of_writing(help="Number of tokens to generate (language models).", min=0)]
Temperature = Annotated[float, of_writing(help="Sampling temperature; 0 always takes the likeliest token.", min=0.0)]
Seed = Annotated[int, of_writing(help="Random seed for sampling.", min=0)]
FirstToken = Annotated[int, of_output(help="First token to show values for, in a long text.", min=0)]
Html = Annotated[Path | None, of_output(help="Write the page to this HTML file and exit.")]
Port = Annotated[int | None, of_output(help="Port of the local page. If omitted, a free port.", min=1, max=65535)]


@app.command(
    epilog=examples(
        "explore mini_bert_en",
        'explore gpt_mini_en "It was a dark night, and" --new-tokens 12',
        r'explore mini_bert_en "He \[MASK] the door." --changed "She \[MASK] the door." --html door.html',
        'explore transformer_mini_en_de "The cat danced." --html cat.html',
        'explore minilm_mini_en "a fine film" --pair "a good movie"',
        'explore minilm_mini_en "a warm place to sleep" --among texts.txt --html search.html',
        'explore runs/finetuned "Where is my parcel?" --without "0.1 2.3"',
    )
)
def explore(
    model: Model,
    text: Annotated[str | None, Argument(help="Text for the model. If omitted, an example.")] = None,
    changed: Changed = None,
    pair: Pair = None,
    among: Among = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    without: Without = "",
    new_tokens: NewTokens = 0,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
    first_token: FirstToken = 0,
    html: Html = None,
    port: Port = None,
    task: TaskName = None,
    max_length: MaxLength = None,
) -> None:
    """Show how a model processes a text: attention, hidden values, and answers with heads off or a word changed."""
    if html:
        check_file(html)
    if among and not among.is_file():
        raise ValueError(f"there is no file {among}: --among takes a file with one text per line.")
    texts = None if among is None else read_small(among, encoding, errors)
    from zoo.loading.load import load

    loaded = load(model, task, max_length=max_length)
    view = view_of(loaded, text, changed, pair, texts)._replace(
        without=without, new_tokens=new_tokens, temperature=temperature, seed=seed, first_token=first_token
    )
    name = Path(model).resolve().name if Path(model).is_dir() else model
    if html is None:
        from zoo.cli.explore_page import serve

        serve(loaded, name, view, port)
        return
    page = view.page(loaded, name)
    with no_room_as_error(html):
        replace_file(html, page)
    print(f"{html}: {len(page.encode()) / 1e6:.2f} MB")


def view_of(task: Task, text: str | None, changed: str | None, pair: str | None, among: str | None) -> View:
    """Return a view of the texts that are given; without a text, of the example of the task."""
    from keras_transformers.analysis.explorer.view import View

    view = View.of(task)
    view = view if text is None else view._replace(text=text, pair=pair or "", among="")
    view = view if among is None else view._replace(among=among)
    return view._replace(changed=changed or "", pair=view.pair if pair is None else pair)


def check_file(path: Path) -> None:
    """Raise a `ValueError` if a page cannot be written to a path, before minutes are spent on the page."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: --html takes the name of a file, such as page.html.")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} for {path.name}: make it, or name another one with --html.")


def read_small(path: Path, encoding: str, errors: str) -> str:
    """Return the content of a small file of texts, one per line."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES:,} bytes: --among is for some dozens of texts.")
    return "\n".join(read_lines(path, encoding, errors))
