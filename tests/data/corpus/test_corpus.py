"""A corpus: held out by rule, made once, used again, never mixed, and what was found in it."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_transformers.data.corpus.corpus import make_corpus, open_corpus
from keras_transformers.data.corpus.held_out_split import Split
from keras_transformers.data.corpus.survey import survey_text
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.id_table import IdTable
from keras_transformers.text.tokenizer import Tokenizer

NOVELS = Path(os.environ.get("ZOO_DATA", Path(__file__).parents[4] / "shared/data")) / "gutenberg_novels/train.txt"
LINE = "It is a truth universally acknowledged, that a single man in possession of a good fortune, {}.\n"


def sentences(count: int, first: int = 0) -> str:
    return "".join(LINE.format(number * 7919) for number in range(first, first + count))


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([sentences(200)], 300, model="byte_pair")


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "a.txt") -> TextFiles:
        (tmp_path / name).write_text(text, newline="")
        return TextFiles(tmp_path / name)

    return write


def content(folder) -> dict[str, str]:
    """Return a digest for each file: differences of large bytes cannot be read."""
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_both_sides_are_the_text(write, tokenizer, tmp_path):
    text = sentences(2000)
    corpus = make_corpus(write(text), tokenizer, tmp_path / "corpus")
    train, held_out = (tokenizer.decode(side.tokens.tolist()) for side in corpus[:2])
    assert sorted(train.splitlines() + held_out.splitlines()) == sorted(text.splitlines())
    assert 0.02 < len(held_out) / len(text) <= 0.06
    assert (corpus.train.num_characters, corpus.held_out.num_characters) == (len(train), len(held_out))
    assert corpus.train.tokens.dtype == np.uint16 and not corpus.train.tokens.flags.writeable
    names = {"corpus.json"}
    names |= {f"{side}/{name}" for side in ("train", "held_out") for name in ("tokens.bin", "token_file.json")}
    assert set(content(tmp_path / "corpus")) == names


@pytest.mark.integration
def test_held_out_sections_are_spread(write, tokenizer, tmp_path):
    corpus = make_corpus(write(sentences(8_000)), tokenizer, tmp_path / "corpus")
    held_out = tokenizer.decode(corpus.held_out.tokens.tolist())
    numbers = [int(line.rpartition(" ")[2].strip(".")) // 7919 for line in held_out.splitlines()]
    assert numbers == sorted(numbers) and numbers[0] < 1000 and numbers[-1] > 7_000
    assert np.count_nonzero(np.diff(numbers) > 100) >= 8


@pytest.mark.parametrize("kind", ["lines", "paragraphs", "one line"])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("size", [8_000, 30_000, 79_000, 300_000])
def test_a_small_corpus_holds_out_the_share(write, size, share, kind):
    """Or a section of 1,024 characters, if that is more; of 8,000 characters it was half, once."""
    text = sentences(size // len(LINE))
    text = text if kind == "lines" else text.replace("\n", "\n\n" if kind == "paragraphs" else " ")
    files, expected = write(text), max(share, 1024 / len(text))
    for seed in range(5):
        pieces = list(Split.of(len(text), 1, share, seed).pieces(files))
        assert "".join(piece.text for piece in pieces) == text
        held_out = sum(len(piece.text) for piece in pieces if piece.is_held_out) / len(text)
        assert 0.5 * expected < held_out < 1.5 * expected, (seed, held_out, expected)


def test_few_documents_hold_out_sections_of_a_small_share(tokenizer, tmp_path):
    """Thirty documents cannot hold out one in a hundred."""
    texts = [sentences(20, 20 * number) for number in range(30)]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    corpus = make_corpus(TextFiles(tmp_path / "a.jsonl"), tokenizer, tmp_path / "corpus", held_out_share=0.01)
    assert 0.005 < corpus.held_out.num_characters / sum(map(len, texts)) < 0.02


@pytest.mark.integration
@pytest.mark.parametrize("place", [0, 7, 17])
def test_one_document_that_is_most_of_the_text_is_no_side(tokenizer, tmp_path, place):
    """Whole documents would be nothing of it, or all: sections are held out."""
    texts = [f"Document {number} is short." for number in range(40)]
    texts[place] = sentences(2_000)
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    for seed in range(3):
        corpus = make_corpus(TextFiles(tmp_path / "a.jsonl"), tokenizer, tmp_path / "corpus", seed=seed)
        assert 0.025 < corpus.held_out.num_characters / corpus.facts.characters < 0.1


def test_documents_of_unlike_lengths_hold_out_about_the_share():
    lengths = [3000, *[10] * 199] * 20  # each 200th, so that ten in two hundred are the long ones, or none is
    splits = [Split.of(sum(lengths), len(lengths), 0.05, seed, lengths) for seed in range(20)]
    assert all(split.unit is not None for split in splits)
    lengths = [int(length) for length in np.random.default_rng(0).lognormal(5, 1, 2000)]
    for seed in range(20):
        split = Split.of(sum(lengths), len(lengths), 0.05, seed, lengths)
        share = sum(lengths[split.first :: split.every]) / sum(lengths)
        assert split.unit is None and 0.025 < share < 0.1
        assert split == Split.of(sum(lengths), len(lengths), 0.05, seed)  # what was fair stays


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_documents_are_held_out_whole(tokenizer, tmp_path, seed):
    texts = [f"Document {number} begins. " * (number % 7 + 1) for number in range(50)]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    corpus = make_corpus(
        TextFiles(tmp_path / "a.jsonl"), tokenizer, tmp_path / "corpus", end_id=tokenizer.eos_id, seed=seed
    )
    sides = [
        tokenizer.decode(side.tokens.tolist(), skip_special_tokens=False).split("<|endoftext|>") for side in corpus[:2]
    ]
    assert sides[0].pop() == sides[1].pop() == ""
    assert sorted(sides[0] + sides[1]) == sorted(texts) and 2 <= len(sides[1]) <= 3
    assert corpus.facts.documents == 50


def test_an_end_token_stands_behind_each_document_on_both_sides(write, tokenizer, tmp_path):
    write(sentences(300), "a.txt"), write(sentences(300, 300), "b.txt")
    files = TextFiles([tmp_path / "a.txt", tmp_path / "b.txt"])
    corpus = make_corpus(files, tokenizer, tmp_path / "corpus", end_id=tokenizer.eos_id, held_out_share=0.5)
    for side in corpus[:2]:
        assert np.count_nonzero(side.tokens == tokenizer.eos_id) == 2 and side.tokens[-1] == tokenizer.eos_id


def test_given_held_out_files(write, tokenizer, tmp_path):
    train, held_out = write(sentences(50)), write(sentences(9, 40), "b.txt")
    corpus = make_corpus(train, tokenizer, tmp_path / "corpus", held_out_files=held_out)
    assert tokenizer.decode(corpus.train.tokens.tolist()) == sentences(50)
    assert tokenizer.decode(corpus.held_out.tokens.tolist()) == sentences(9, 40)
    assert corpus.facts.shared_lines == 1.0 and [name for name, *_ in corpus.facts.files] == [
        str(tmp_path / "a.txt"), str(tmp_path / "b.txt"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"a\.txt is among the files to train on and among those held out"):
        make_corpus(train, tokenizer, tmp_path / "other", held_out_files=train)


@pytest.mark.parametrize("text", ["ab", "abc\n", "one line without an end", "a\n\nb\n", "x" * 5000, "\n" * 9 + "the"])
def test_tiny_corpora(write, tokenizer, tmp_path, text):
    try:
        corpus = make_corpus(write(text), tokenizer, tmp_path / "corpus")
    except ValueError as error:
        assert len(text) < 9 and "expected at least 2. Give more text" in str(error)
    else:
        assert corpus.train.num_characters + corpus.held_out.num_characters == len(text)
        assert min(corpus.train.num_tokens, corpus.held_out.num_tokens) >= 2


def test_one_character_is_too_little(write, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="a corpus of 1 characters: expected more"):
        make_corpus(write("a"), tokenizer, tmp_path / "corpus")


@pytest.mark.integration(quick=["2-0.001", "2-0.05", "2-0.5", "2-0.3"])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.3, 0.5])
@pytest.mark.parametrize("count", [2, 50, 3000])
def test_both_sides_have_text_whatever_the_share(write, tokenizer, tmp_path, share, count):
    for seed in range(3):
        folder = tmp_path / f"corpus{seed}"
        corpus = make_corpus(write(sentences(count)), tokenizer, folder, held_out_share=share, seed=seed)
        assert min(corpus.train.num_characters, corpus.held_out.num_characters) > 0


def test_facts(write, tmp_path):
    text = "The cat sat.\r\n" * 2 + sentences(400) + sentences(100) + "Zwölf Ω Boxkämpfer ❤"
    files = write(text)
    tokenizer = Tokenizer.train([sentences(300) + "cat sat Boxk"], 200)
    facts = make_corpus(files, tokenizer, tmp_path / "corpus").facts
    assert facts.characters == len(text) and facts.lines == 503 and facts.documents == 1
    assert facts.longest_line == max(map(len, text.split("\n")))
    assert facts.repeated_lines == pytest.approx(0.2, abs=0.01)
    assert 0 <= facts.shared_lines <= 1
    assert facts.unknown_tokens >= 2 and "Ω" in facts.unknown_examples and "❤" in facts.unknown_examples
    assert facts.files[0][1] == len(text.encode()) and len(facts.files[0][2]) == 64
    assert open_corpus(tmp_path / "corpus").facts == facts


@pytest.mark.parametrize("kind", ["bytes", "character"])
def test_ids_by_a_table_are_those_of_the_library(tmp_path, monkeypatch, kind):
    """Of text with added tokens typed in it, line ends of Windows, NUL, and characters that were not seen."""
    odd = ["a\r\nb\0c", "</s> <|endoftext|>\ud7ff", "👩\u200d👧 é e\u0301 中", "<|endoftext|>"]
    texts = [odd[number % 4] * (number % 9) + sentences(3, number) for number in range(60)]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    special = ["<|endoftext|>", "<unk>"] if kind == "character" else None
    tokenizer = Tokenizer.train([sentences(100), "a\r\nb\0c</s>é"], model=kind, special_tokens=special)
    corpus = make_corpus(TextFiles(tmp_path / "a.jsonl"), tokenizer, tmp_path / "table", end_id=0)
    monkeypatch.setattr(IdTable, "of", lambda tokenizer: None)
    expected = make_corpus(TextFiles(tmp_path / "a.jsonl"), tokenizer, tmp_path / "library", end_id=0)
    for one, other in zip(corpus[:2], expected[:2], strict=True):
        assert np.array_equal(one.tokens, other.tokens)
    assert corpus.facts == expected.facts and (corpus.facts.unknown_tokens > 50) == (kind == "character")


@pytest.mark.integration
def test_duplicates_across_the_split_are_counted(write, tokenizer, tmp_path):
    alone = make_corpus(write(sentences(3000)), tokenizer, tmp_path / "corpus").facts
    twice = make_corpus(write(sentences(3000) + sentences(3000).upper(), "b.txt"), tokenizer, tmp_path / "twice").facts
    assert alone.shared_lines == 0 and alone.repeated_lines == 0
    assert twice.shared_lines > 0.8 and twice.repeated_lines == 0.5


@pytest.mark.parametrize("size", [1, 3, 10, 10**6])
def test_a_survey_counts_lines_across_sections(write, monkeypatch, size):
    monkeypatch.setattr("keras_transformers.data.corpus.survey.READ", size)
    survey = survey_text(write("one\ntwo three\n\nfour"), lambda *done: None)
    assert (survey.lines, survey.longest_line, survey.characters, survey.documents) == (4, 9, 19, 1)


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt.gz", "a.parquet"])
def test_other_formats(tokenizer, tmp_path, name):
    text, path = sentences(300), tmp_path / name
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith("jsonl"):
        path.write_text("".join(json.dumps({"text": line}) + "\n" for line in text.splitlines(True)))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pytest.importorskip("pyarrow").table({"text": text.splitlines(True)}), path)
    corpus = make_corpus(TextFiles(path), tokenizer, tmp_path / "corpus")
    assert corpus.train.num_characters + corpus.held_out.num_characters == len(text)


@pytest.fixture
def made(write, tokenizer, tmp_path, monkeypatch):
    """A corpus, and a function that makes it again and returns what was read for it."""
    reads = []
    sections = TextFiles.sections
    monkeypatch.setattr(TextFiles, "sections", lambda self, size: reads.append(size) or sections(self, size))

    def again(**options):
        reads.clear()
        options = {"tokenizer": tokenizer, "files": TextFiles(tmp_path / "a.txt"), **options}
        corpus = make_corpus(options.pop("files"), options.pop("tokenizer"), tmp_path / "corpus", **options)
        return corpus, list(reads)

    write(sentences(300))
    assert len(again()[1]) == 3
    return again


def test_it_is_used_again(made, tmp_path):
    before = content(tmp_path / "corpus")
    corpus, reads = made()
    assert not reads and content(tmp_path / "corpus") == before
    assert corpus.train.digest == TokenFile.open(tmp_path / "corpus/train").digest


@pytest.mark.parametrize(
    "change", ["text", "same stamp", "time", "tokenizer", "seed", "share", "end", "damage", "cut", "encoding"]
)
def test_it_is_made_anew_after_a_change(made, tokenizer, tmp_path, change):
    path, options = tmp_path / "a.txt", {}
    before, _ = made()
    if change == "text":
        path.write_text(path.read_text().replace("7919.", "7918."))
    elif change == "same stamp":
        stamp = path.stat().st_mtime_ns
        path.write_text(path.read_text().replace("7919.", "7918."))
        os.utime(path, ns=(stamp, stamp))
    elif change == "time":
        os.utime(path, ns=(0, 0))
    elif change == "tokenizer":
        options["tokenizer"] = Tokenizer.train([sentences(200)], 290, model="byte_pair")
    elif change == "damage":
        (tmp_path / "corpus/corpus.json").write_text("{")
    elif change == "cut":
        (tmp_path / "corpus/train/tokens.bin").write_bytes(b"ab")
    else:
        options = {"seed": {"seed": 1}, "share": {"held_out_share": 0.5}, "end": {"end_id": 0},
                   "encoding": {"files": TextFiles(path, encoding="latin-1")}}[change]  # fmt: skip
    old = before.train.tokens.copy() if change != "cut" else None
    corpus, reads = made(**options)
    assert len(reads) == 3
    assert made(**options)[1] == []
    if change in ("text", "same stamp", "tokenizer", "seed", "share", "end"):
        assert corpus.train.digest != before.train.digest
        assert np.array_equal(before.train.tokens, old)  # who has the old file open goes on with it
    else:
        assert corpus.train.digest == before.train.digest
    assert not list((tmp_path / "corpus").glob("*journal*")) and not list((tmp_path / "corpus").glob("survey*"))


def test_it_is_never_mixed(made, tmp_path, monkeypatch):
    """Of a call that ends while it makes another corpus in the same folder, nothing is taken for the first one."""
    before, _ = made()
    with monkeypatch.context() as patch:
        patch.setattr("keras_transformers.data.corpus.corpus.replace_file", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            made(seed=1)
    corpus, reads = made()
    assert len(reads) == 3 and corpus.train.digest == before.train.digest


@pytest.mark.integration
def test_a_file_that_changes_meanwhile(write, tokenizer, tmp_path):
    files = write(sentences(300))

    def change(what, done, total):
        os.utime(tmp_path / "a.txt", ns=(1, 1))

    text = sentences(12_000)
    files = write(text)
    with pytest.raises(ValueError, match="A file changed while"):
        make_corpus(files, tokenizer, tmp_path / "corpus", progress=change)
    assert make_corpus(files, tokenizer, tmp_path / "corpus").facts.characters == len(text)


@pytest.mark.integration
def test_progress_is_told(write, tokenizer, tmp_path):
    told = []
    make_corpus(write(sentences(12_000)), tokenizer, tmp_path / "corpus", progress=lambda *done: told.append(done))
    assert [what for what, done, total in told[::2]] and {what for what, *_ in told} == {
        "reading", "comparing", "tokenizing",
    }  # fmt: skip
    assert all(0 < done <= total for _, done, total in told)


def test_an_error_in_the_text_is_raised_before_tokens_are_written(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_bytes(sentences(12_000).encode() + b"\xf6")
    with pytest.raises(ValueError, match=r"a\.txt, line 12,001, byte"):
        make_corpus(TextFiles(tmp_path / "a.txt"), tokenizer, tmp_path / "corpus")
    assert not list((tmp_path / "corpus").rglob("tokens.bin"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out_share": 0}, "Received held_out_share=0"),
        ({"held_out_share": 0.6}, "Received held_out_share=0.6"),
        ({"held_out_share": True}, "Received held_out_share=True"),
        ({"seed": -1}, "Received seed=-1"),
        ({"end_id": 300}, "Received end_id=300"),
        ({"held_out_files": "a.txt"}, "Received held_out_files='a.txt'"),
    ],
)
def test_settings_are_checked(write, tokenizer, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        make_corpus(write(sentences(9)), tokenizer, tmp_path / "corpus", **options)
    with pytest.raises(ValueError, match=r"Received files='a\.txt'"):
        make_corpus("a.txt", tokenizer, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


@pytest.mark.integration
def test_two_calls_on_one_folder(write, tokenizer, tmp_path):
    """The second is refused while the first one works, and finds its corpus afterwards."""
    errors = []

    def second(*done):
        if not errors:
            with pytest.raises(ValueError) as error:
                make_corpus(files, tokenizer, tmp_path / "corpus")
            errors.append(str(error.value))

    files = write(sentences(12_000))
    first = make_corpus(files, tokenizer, tmp_path / "corpus", progress=second)
    assert "Another process makes the corpus in" in errors[0] and "wait for it" in errors[0]
    assert make_corpus(files, tokenizer, tmp_path / "corpus").train.digest == first.train.digest


def test_a_folder_that_cannot_be(write, tokenizer, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"corpus cannot be written: .*Not a directory"):
        make_corpus(write(sentences(9)), tokenizer, tmp_path / "file/corpus")


@pytest.mark.parametrize("name", ["missing", "a.txt"])
def test_what_is_no_corpus_is_refused(write, tokenizer, tmp_path, name):
    corpus = make_corpus(write(sentences(300)), tokenizer, tmp_path / "corpus")
    with pytest.raises(ValueError, match=r"token|folder|there is no"):
        TokenFile.open(tmp_path / name)
    with pytest.raises(ValueError):
        open_corpus(tmp_path / name)
    description = tmp_path / "corpus/train/token_file.json"
    values = json.loads(description.read_text())
    for wrong in ({**values, "num_tokens": 7}, {"num_tokens": 7}, {**values, "digest": 3}):
        description.write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=r"tokens|lacks|digest"):
            TokenFile.open(tmp_path / "corpus/train")
    assert corpus.train.num_tokens


SCRIPT = """
import sys
from pathlib import Path
from keras_transformers.data.corpus import token_writer, tokenized
from keras_transformers.data.corpus.corpus import make_corpus
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
import os, resource, signal
folder, out, kill_at, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
tokenized.BATCH, tokenized.COMMIT = 1 << 14, 2
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
steps = 0
def step(function):
    def stepped(*args, **options):
        global steps
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)
    return stepped
Writer = token_writer.TokenWriter
os.fsync, os.replace, Writer.append = map(step, (os.fsync, os.replace, Writer.append))
tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
tokenizer.encode = step(tokenizer.encode)
try:
    make_corpus(TextFiles(folder / "a.txt"), tokenizer, folder / out, end_id=0)
except ValueError as error:
    print(error)
print("steps", steps)
"""


@pytest.fixture
def run(write, tokenizer, tmp_path):
    write(sentences(2_500))
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json())

    def run(out: str, kill_at: int = 0, limit: int = 0) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), out, str(kill_at), str(limit)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])

    return run


@pytest.mark.integration
def test_killed_at_any_moment_it_ends_in_the_same_bytes(run, tmp_path):
    done = run("whole")
    steps = int(done.stdout.split()[-1])
    expected = content(tmp_path / "whole")
    assert steps > 100 and done.returncode == 0
    for kill_at in (1, 2, 3, 5, steps // 3, steps // 2, *range(steps - 7, steps + 1)):
        out = f"killed{kill_at}"
        assert run(out, kill_at).returncode == -9, kill_at
        assert run(out, 2).returncode in (-9, 0)  # and again, in going on
        assert run(out).returncode == 0 and content(tmp_path / out) == expected, kill_at


@pytest.mark.integration
def test_what_was_committed_is_not_made_again(run, tmp_path):
    steps = int(run("whole").stdout.split()[-1])
    run("killed", kill_at=steps * 4 // 5)
    assert int(run("killed").stdout.split()[-1]) < steps // 2
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


@pytest.mark.integration
def test_a_full_disk(run, tmp_path):
    assert run("whole").returncode == 0
    done = run("full", limit=50_000)
    assert "full cannot be written: there is no space left for it. The finished parts are kept" in done.stdout
    assert (tmp_path / "full/journal.json").is_file()
    assert run("full").returncode == 0 and content(tmp_path / "full") == content(tmp_path / "whole")


@pytest.mark.data
def test_novels(tmp_path):
    tokenizer = Tokenizer.train([NOVELS.open().read(200_000)], 1000, model="byte_pair")
    corpus = make_corpus(TextFiles(NOVELS), tokenizer, tmp_path / "corpus", end_id=tokenizer.eos_id)
    assert 0.03 < corpus.held_out.num_characters / corpus.facts.characters <= 0.06
    assert (
        corpus.facts.shared_lines < 0.01 and corpus.facts.copied_characters < 0.02 and not corpus.facts.unknown_tokens
    )
