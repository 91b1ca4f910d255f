"""What a name stands for: a model of the zoo, a folder, a repository; and what it cannot be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import zoo
from keras_transformers.checkpoints import hub, stored
from keras_transformers.checkpoints.settings import huggingface_config
from keras_transformers.utils import json_file, untrusted
from zoo.loading.find import find


@pytest.fixture
def here(monkeypatch, tmp_path):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["mini_bert_en", "folder", "path", "keras-nlp:folder"])
def test_a_revision_of_what_is_not_on_the_hub(folders, here, name):
    shutil.copytree(folders["classification"], here / "folder")
    with pytest.raises(ValueError, match=r"revision='v2'.*on the hub.*Leave it out"):
        zoo.load(Path("folder") if name == "path" else name, revision="v2", labels=2)


@pytest.mark.parametrize(
    ("name", "revision", "asked"),
    [
        ("hf:org/repo", None, ("org/repo", None)),
        ("hf:org/repo", "v2", ("org/repo", "v2")),
        ("hf:org/repo@v1", None, ("org/repo", "v1")),
        ("hf:org/repo@v1", "v1", ("org/repo", "v1")),
        ("gpt2", "v2", ("openai-community/gpt2", "v2")),
        ("gpt2", None, ("openai-community/gpt2", None)),
    ],
)
def test_the_revision_that_is_fetched(folders, monkeypatch, name, revision, asked):
    seen = []

    def download(repo, revision, *rest, **options):
        seen.append((repo, revision))
        return Path(folders["causal_lm"])

    monkeypatch.setattr(hub, "download", download)
    assert find(name, revision).task == "causal_lm"
    assert seen == [asked]


def test_two_revisions():
    with pytest.raises(ValueError, match=r"'hf:org/repo@v1' and revision='v2': expected one"):
        zoo.load("hf:org/repo@v1", revision="v2")


def test_a_folder_with_the_name_of_a_model(folders, here):
    shutil.copytree(folders["causal_lm"], here / "gpt_mini_en")
    bundled = str(zoo.describe("gpt_mini_en").folder)
    with pytest.raises(ValueError, match=r"a model of the zoo.*a folder here.*'\./gpt_mini_en'.*bundled") as error:
        zoo.load("gpt_mini_en")
    assert bundled in str(error.value)
    size = find(folders["causal_lm"]).config.hidden_dim
    for name in (os.path.join(".", "gpt_mini_en"), "gpt_mini_en" + os.sep, Path("gpt_mini_en"), here / "gpt_mini_en"):
        assert find(name).config.hidden_dim == size
    assert find(bundled).config.hidden_dim != size
    (here / "gpt_mini_en" / "config.json").rename(here / "gpt_mini_en" / "adapter_config.json")
    with pytest.raises(ValueError, match=r"a model of the zoo.*a folder here"):
        zoo.load("gpt_mini_en")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("gpt2", ", or 'hf:openai-community/gpt2'"), ("opus_mt_en_fr", ", or 'hf:Helsinki-NLP/opus-mt-en-fr'"),
     ("transformer_base", r"\.$")],
)  # fmt: skip
def test_how_to_say_which(folders, here, name, remedy):
    shutil.copytree(folders["causal_lm"], here / name)
    with pytest.raises(ValueError, match=rf"'\./{name}' for the folder{remedy}"):
        zoo.load(name)
    assert find(f"./{name}").task == "causal_lm"


def test_a_folder_that_is_no_checkpoint_hides_nothing(here):
    (here / "mini_bert_en").mkdir()
    assert find("mini_bert_en").tokenizer.vocabulary_size > 1000


ONE_STR = {
    "labels": ("masked_lm", {"labels": "abc"}),
    "outputs": ("masked_lm", {"outputs": "hidden_states"}),
}


@pytest.mark.parametrize("case", ONE_STR)
def test_one_str_is_no_list_of_names(folders, case):
    name, options = ONE_STR[case]
    with pytest.raises(ValueError, match=rf"`?{case}`?.* str"):
        zoo.load(folders[name], **options)


def test_one_str_is_no_list_of_labels(folders):
    task = zoo.load(folders["masked_lm"], labels=["a", "b"])
    for method in (task.dataset, task.fit, task.evaluate):
        with pytest.raises(ValueError, match="a label for each text, received the str 'ab'"):
            method(["a fine film", "a dull book"], "ab")
        with pytest.raises(ValueError, match="list of str for `texts`"):
            method("ab", ["a", "b"])


@pytest.mark.parametrize("task", ["classification", "causal_lm", "seq2seq_lm"])
def test_the_configuration_is_read_and_checked_once(folders, monkeypatch, task):
    config, read, checked = Path(folders[task], "config.json"), [], []

    def read_bytes(path, *arguments):
        read.append(Path(path))
        return untrusted.read_bytes(path, *arguments)

    def parse_config(values, path):
        checked.append(path)
        return huggingface_config.parse_config(values, path)

    monkeypatch.setattr(json_file, "read_bytes", read_bytes)
    monkeypatch.setattr(stored, "parse_config", parse_config)
    zoo.load(folders[task])
    assert read.count(config) == 1
    assert checked == [config]
