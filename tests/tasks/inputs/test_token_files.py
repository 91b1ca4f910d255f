"""Language models learn from a file of tokens, and go on at the very batch."""

import contextlib
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformers.data.corpus.corpus import make_corpus
from keras_transformers.data.corpus.token_file import TokenFile
from keras_transformers.families import bert, gpt2, t5
from keras_transformers.tasks import Task
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.resuming.resume import Resume

TEXT = "".join(f"The fox number {number} ran over the dog number {number * 31 % 97}.\n" for number in range(900))
SIZES = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 24}
SENTINELS = [f"<extra_id_{number}>" for number in range(8)]
SPECIAL = {"seq2seq_lm": ["<pad>", "</s>", "<unk>", *SENTINELS]}
MODELS = {"causal_lm": (gpt2, "byte_pair"), "masked_lm": (bert, "wordpiece"), "seq2seq_lm": (t5, "unigram")}


def make_task(name: str, tokenizer: Tokenizer, **options) -> Task:
    family, more = MODELS[name][0], {}
    if name != "masked_lm":
        more["eos_ids"] = [tokenizer.eos_id]
    if name == "seq2seq_lm":
        more["decoder_start_id"] = tokenizer.pad_id
    keras.utils.set_random_seed(0)
    return Task(name, family(tokenizer.vocabulary_size, **SIZES, **more), tokenizer, **options)


@pytest.fixture(scope="module", params=MODELS)
def made(request, tmp_path_factory):
    name, folder = request.param, tmp_path_factory.mktemp("corpus")
    tokenizer = Tokenizer.train(TEXT.splitlines(), 280, model=MODELS[name][1], special_tokens=SPECIAL.get(name))
    (folder / "a.txt").write_text(TEXT)
    return make_task(name, tokenizer), make_corpus(TextFiles(folder / "a.txt"), tokenizer, folder / "corpus")


@pytest.mark.integration(quick=["causal_lm"])
def test_rows_are_the_text(made):
    task, corpus = made
    x, y = next(iter(task.dataset(corpus.train, batch_size=4, shuffle=False)))
    text = task.tokenizer.decode(corpus.train.tokens.tolist())
    if task.name == "seq2seq_lm":
        assert x["encoder_token_ids"].shape == (4, 24) and x["encoder_padding_mask"].numpy().all()
        ends = y.numpy()[y.numpy() >= 0]
        assert set(map(task.tokenizer.token_to_id, SENTINELS)) & set(ends.tolist())
        source = x["encoder_token_ids"].numpy()[0]
        assert task.tokenizer.id_to_token(int(source[-1])) == "</s>"
        return
    assert x["token_ids"].shape == (4, 24)
    rows = x["token_ids"].numpy()
    if task.name == "masked_lm":
        assert (rows[:, 0] == task.tokenizer.cls_id).all() and (rows[:, -1] == task.tokenizer.sep_id).all()
        for row, positions, labels in zip(rows, x["mask_positions"].numpy(), y.numpy(), strict=True):
            row[positions[labels >= 0]] = labels[labels >= 0]
        rows = rows[:, 1:-1]
    else:
        assert np.array_equal(rows.ravel()[1:], y.numpy().ravel()[:-1])
    assert np.array_equal(rows.ravel(), corpus.train.tokens[: rows.size])
    assert text.lower().startswith(task.tokenizer.decode(rows[0].tolist()).lower())


@pytest.mark.integration
def test_it_learns_by_fit(made):
    task, corpus = made
    before = task.evaluate(corpus.held_out, verbose=0)["perplexity"]
    options = {"steps_per_epoch": 40}
    history = task.fit(
        corpus.train,
        epochs=2,
        batch_size=8,
        learning_rate=0.01,
        validation_data=task.dataset(corpus.held_out, shuffle=False),
        dataset_options=options,
        verbose=0,
    ).history
    assert history["val_perplexity"][-1] == pytest.approx(
        task.evaluate(corpus.held_out, verbose=0)["perplexity"], rel=0.2
    )
    assert history["val_perplexity"][-1] < 0.8 * before


@pytest.mark.integration(quick=["causal_lm", "masked_lm"])
def test_what_does_not_fit_is_refused(made):
    task, corpus = made
    other = Tokenizer.train(
        ["Another fox walked."], 280, model=MODELS[task.name][1], special_tokens=SPECIAL.get(task.name)
    )
    with pytest.raises(ValueError, match="was made with another tokenizer than the task's"):
        make_task(task.name, other).dataset(corpus.train)
    with pytest.raises(ValueError, match="takes its labels from a file of tokens itself"):
        task.dataset(corpus.train, ["a"])
    with pytest.raises(ValueError, match="dataset has no setting packing"):
        task.dataset(corpus.train, packing="documents")
    with pytest.raises(ValueError, match="sample_weight is for texts"):
        task.dataset(corpus.train, sample_weight=[1.0])


def test_other_tasks_take_texts():
    tokenizer = Tokenizer.train(TEXT.splitlines(), 280)
    task = Task("classification", bert(tokenizer.vocabulary_size, **SIZES), tokenizer, labels=["a", "b"])
    file = object.__new__(TokenFile)
    with pytest.raises(ValueError, match=r"classification does not learn from a file of tokens: causal_lm, masked_lm"):
        task.dataset(file)


@pytest.mark.integration(quick=["1-Received 1 sentinels for"])
@pytest.mark.parametrize(("sentinels", "message"), [(0, "has no <extra_id_0>"), (1, "Received 1 sentinels for")])
def test_span_corruption_needs_sentinels(tmp_path, sentinels, message):
    (tmp_path / "a.txt").write_text(TEXT)
    special = ["<pad>", "</s>", "<unk>", *SENTINELS[:sentinels]]
    tokenizer = Tokenizer.train(TEXT.splitlines(), 100, model="unigram", special_tokens=special)
    corpus = make_corpus(TextFiles(tmp_path / "a.txt"), tokenizer, tmp_path / "corpus")
    config = t5(tokenizer.vocabulary_size, **{**SIZES, "max_length": 64}, eos_ids=[1], decoder_start_id=0)
    with pytest.raises(ValueError, match=message):
        Task("seq2seq_lm", config, tokenizer).dataset(corpus.train)


class Losses(keras.callbacks.Callback):
    """Notes the loss after each batch, and breaks a run off."""

    def __init__(self, stop: tuple[int, int] | None = None):
        super().__init__()
        self.stop, self.seen = stop, {}

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self.seen[self.epoch, batch] = float(logs["loss"])
        if (self.epoch, batch) == self.stop:
            raise KeyboardInterrupt


@pytest.mark.integration
def test_a_run_of_parts_of_passes_resumes_at_the_very_batch(made, tmp_path):
    """A pass has less than 100 batches: epochs of 25 cross its end."""
    task, corpus = made

    def run(folder: Path, stop: tuple[int, int] | None = None) -> tuple[dict, list]:
        task = make_task(made[0].name, made[0].tokenizer)
        task.compile(keras.optimizers.Adam(0.01))
        dataset = task.dataset(corpus.train, batch_size=16, steps_per_epoch=25)
        losses = Losses(stop)
        callbacks = [losses, Resume(folder, dataset, every=7)]
        with contextlib.suppress(KeyboardInterrupt):
            task.model.fit(dataset, epochs=4, verbose=0, shuffle=False, callbacks=callbacks)
        return losses.seen, [weight.numpy() for weight in task.model.weights]

    whole, weights = run(tmp_path / "whole")
    assert len(whole) == 100
    run(tmp_path / "broken", stop=(2, 16))
    rest, resumed = run(tmp_path / "broken")
    assert all(rest[place] == whole[place] for place in whole if place >= (2, 14))
    assert all(np.array_equal(one, other) for one, other in zip(weights, resumed, strict=True))
    assert task.dataset(corpus.train, batch_size=16).num_batches < 100
