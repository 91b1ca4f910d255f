"""`download` against a local server that answers as huggingface.co does."""

import contextlib
import hashlib
import http.server
import json
import re
import socket
import threading
import urllib.parse

import pytest

from keras_transformers.checkpoints.hub import download, parse

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
FILES = {
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": bytes(range(256)) * 40,
    "vocab.txt": b"[PAD]\n",
    "pytorch_model.bin": b"old",
    "onnx/model.safetensors": b"not wanted",
    "tf_model.h5": b"of TensorFlow",
}
TENSORFLOW = "tf_model.h5"


class Handler(http.server.BaseHTTPRequestHandler):
    """Repositories `org/model`, `org/bin` and `org/empty`; `org/gated`; large files live behind a redirect."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.requests.append((self.command, self.path))
        path = self.path.partition("?")[0]
        if match := re.fullmatch(r"/api/models/(org/\w+)/(revision|tree)/(\w+)/?", path):
            self.answer_api(*match.groups())
        elif match := re.fullmatch(r"/(org/\w+)/resolve/(\w+)/(.+)", path):
            self.answer_file(*match.groups())
        elif path.startswith("/cdn/"):
            self.answer_content(path.removeprefix("/cdn/"))
        else:
            self.refuse(404, "RepoNotFound")

    def answer_api(self, repo, kind, revision):
        if repo == "org/gated":
            return self.refuse(403, "GatedRepo")
        if repo not in self.server.repos:
            return self.refuse(401, "RepoNotFound")
        commit = COMMITS.get(revision, revision)
        if commit not in COMMITS.values():
            return self.refuse(404, "RevisionNotFound")
        files = self.server.repos[repo]
        info = {"id": repo, "sha": commit, "siblings": [{"rfilename": name} for name in files]}
        tree = [{"type": "file", "path": name, "size": len(files[name]), "oid": etag(files[name])} for name in files]
        return self.send(200, json.dumps(info if kind == "revision" else tree).encode())

    def answer_file(self, repo, revision, name):
        name = urllib.parse.unquote(name)
        content = self.server.repos[repo][name]
        headers = {"X-Repo-Commit": COMMITS.get(revision, revision), "ETag": f'"{etag(content)}"'}
        if name != "model.safetensors":
            return self.send(200, content, headers)
        elsewhere = f"http://localhost:{self.server.server_port}/cdn/{repo}"
        headers |= {"X-Linked-Size": len(content), "X-Linked-ETag": headers["ETag"], "Location": elsewhere}
        return self.send(302, b"", headers)

    def answer_content(self, repo):
        content = self.server.repos[repo]["model.safetensors"]
        if self.server.cut == "for ever":
            return self.send(200, content[:100])
        if self.server.cut == "once":
            self.server.cut = None
            self.close_connection = True
            return self.send(200, content[:5000], {"Content-Length": len(content)})
        return self.send(200, content)

    def refuse(self, status, code):
        self.send(status, b"", {"X-Error-Code": code})

    def send(self, status, body, headers=()):
        self.send_response(status)
        for name, value in ({"Content-Length": len(body)} | dict(headers)).items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def etag(content):
    return hashlib.sha256(content).hexdigest()[:40]


@pytest.fixture
def hub(monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    without_weights = {
        name: content for name, content in FILES.items() if name not in ("model.safetensors", TENSORFLOW)
    }
    server.repos = {"org/model": FILES, "org/bin": without_weights, "org/empty": {"README.md": b"# Nothing"}}
    server.cut, server.requests = None, []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield server
    server.shutdown()
    server.server_close()


def test_fetches_the_wanted_files_from_the_mirror(hub, tmp_path):
    folder = download("org/model", cache_dir=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "vocab.txt"]
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_the_pickled_file_comes_on_request(hub, tmp_path):
    with pytest.raises(ValueError, match=r"org/bin.*pytorch_model\.bin.*pickled=True"):
        download("org/bin", cache_dir=tmp_path)
    assert (download("org/bin", cache_dir=tmp_path, pickled=True) / "pytorch_model.bin").read_bytes() == b"old"


def test_shards_of_the_old_format_come_on_request(hub, tmp_path):
    shard, index = "pytorch_model-00001-of-00001.bin", "pytorch_model.bin.index.json"
    hub.repos["org/bin"] = {"config.json": b"{}", shard: b"old", index: b"{}"}
    with pytest.raises(ValueError, match=r"org/bin.*pickled=True"):
        download("org/bin", cache_dir=tmp_path / "one")
    folder = download("org/bin", cache_dir=tmp_path / "other", pickled=True)
    assert sorted(path.name for path in folder.iterdir()) == sorted(["config.json", shard, index])


@pytest.mark.parametrize("pickled", [False, True])
def test_weights_of_tensorflow_come_where_there_are_no_others(hub, tmp_path, pickled):
    hub.repos["org/old"] = {name: FILES[name] for name in ("config.json", "vocab.txt", TENSORFLOW)}
    folder = download("org/old", cache_dir=tmp_path, pickled=pickled)
    assert (folder / TENSORFLOW).read_bytes() == FILES[TENSORFLOW]
    hub.repos["org/both"] = hub.repos["org/old"] | {"pytorch_model.bin": b"old"}
    held = {path.name for path in download("org/both", cache_dir=tmp_path, pickled=pickled).iterdir()}
    assert (TENSORFLOW in held) != pickled


def test_shards_of_tensorflow(hub, tmp_path):
    shard, index = "tf_model-00001-of-00001.h5", "tf_model.h5.index.json"
    hub.repos["org/old"] = {"config.json": b"{}", shard: b"old", index: b"{}"}
    assert {path.name for path in download("org/old", cache_dir=tmp_path).iterdir()} == {"config.json", shard, index}


def modules(*kinds, path=""):
    """A modules.json, whose first module is in a folder, as versions 0 and 1 of sentence-transformers wrote it."""
    paths = [path, *(f"{number}_{kind}" for number, kind in enumerate(kinds) if number)]
    types = [f"sentence_transformers.models.{kind}" for kind in kinds]
    return json.dumps([{"type": kind, "path": place} for kind, place in zip(types, paths, strict=True)]).encode()


FURTHER = {  # wanted, in folders
    "1_Pooling/config.json": b"{}",
    "2_Dense/config.json": b"{}",
    "2_Dense/model.safetensors": b"dense",
    "additional_chat_templates/tool.jinja": b"",
}


@pytest.mark.parametrize("inner", ["", "0_Transformer/", "0_[A-z]*/"])
def test_all_modules_of_sentence_transformers(hub, tmp_path, inner):
    own = {f"{inner}{name}": FILES[name] for name in ("config.json", "model.safetensors", "vocab.txt")}
    wanted = own | FURTHER | {"modules.json": modules("Transformer", "Pooling", "Dense", path=inner[:-1])}
    wanted |= {f"{inner}spiece.model": b"pieces"}
    others = {"onnx/spiece.model": b"", f"{inner}original/spiece.model": b"", "0_More/vocab.txt": b""}
    hub.repos["org/vectors"] = wanted | others | ({"README.md": b"", "config.json": b"{}"} if inner else {})
    folder = download("org/vectors", cache_dir=tmp_path)
    held = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert held == wanted | ({"config.json": b"{}"} if inner else {})


@pytest.mark.integration
def test_old_weights_in_a_folder_of_their_own(hub, tmp_path):
    old, tensorflow = ({"config.json": b"{}", name: b"old"} for name in ("pytorch_model.bin", TENSORFLOW))
    for repo, files in (("org/old", old), ("org/tf", tensorflow)):
        of_model = {f"0_Transformer/{name}": content for name, content in files.items()}
        hub.repos[repo] = of_model | {"modules.json": modules("Transformer", "Pooling", path="0_Transformer")}
    with pytest.raises(ValueError, match=r"org/old.*pickled=True"):
        download("org/old", cache_dir=tmp_path)
    for repo, name, options in (("org/old", "pytorch_model.bin", {"pickled": True}), ("org/tf", TENSORFLOW, {})):
        assert (download(repo, cache_dir=tmp_path, **options) / "0_Transformer" / name).read_bytes() == b"old"


@pytest.mark.parametrize("kind", ["WordEmbeddings", "CNN", "BERT", "CLIPModel"])
def test_models_that_are_no_transformer_are_named_before_their_weights_are_fetched(hub, tmp_path, kind):
    weights = {f"0_{kind}/{name}": b"weights" for name in ("config.json", "model.safetensors")}
    hub.repos["org/words"] = weights | {"modules.json": modules(kind, "Pooling", path=f"0_{kind}")}
    with pytest.raises(ValueError, match=rf"has the module '{kind}'.*expected Transformer"):
        download("org/words", cache_dir=tmp_path)
    assert not [path for _, path in hub.requests if "weights" in path or "safetensors" in path]


def test_an_adapter_needs_no_configuration_of_a_model(hub, tmp_path):
    hub.repos["org/lora"] = {"adapter_config.json": b"{}", "adapter_model.safetensors": b"", "README.md": b"# LoRA"}
    folder = download("org/lora", cache_dir=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]


def test_a_pinned_commit_is_served_from_the_cache(hub, tmp_path):
    folder = download("org/model", "v1", tmp_path)
    assert folder.name == COMMITS["v1"]
    hub.requests.clear()
    assert download("org/model", COMMITS["v1"], tmp_path) == folder
    assert not [request for request in hub.requests if request[0] == "GET" and "resolve" in request[1]]


def test_offline_reads_the_cache_only(hub, tmp_path, monkeypatch):
    folder = download("org/model", cache_dir=tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.requests.clear()
    assert download("org/model", cache_dir=tmp_path) == folder
    with pytest.raises(ValueError, match=r"config\.json and model\.safetensors of 'org/bin'.*HF_HUB_OFFLINE is set"):
        download("org/bin", cache_dir=tmp_path)
    assert hub.requests == []


def test_no_network(hub, tmp_path, monkeypatch):
    folder = download("org/model", cache_dir=tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    assert download("org/model", cache_dir=tmp_path) == folder
    with pytest.raises(ValueError, match=r"wanted config\.json and model.*http://127.*does not answer.*give the path"):
        download("org/bin", cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("repo", "revision", "message"),
    [
        ("org/nothing", None, "does not show 'org/nothing'.*HF_TOKEN"),
        ("org/model", "v9", "has 'org/model', but not its revision 'v9'"),
        ("org/gated", None, "'org/gated' is gated.*HF_TOKEN"),
        ("org/empty", None, r"'org/empty' holds no config\.json"),
        ("org/a/b", None, "'org/a/b' is not the name of a repository"),
    ],
)
def test_errors_say_what_to_do(hub, tmp_path, repo, revision, message):
    with pytest.raises(ValueError, match=message):
        download(repo, revision, tmp_path)


def test_a_partial_file_is_never_returned(hub, tmp_path):
    hub.cut = "for ever"
    with pytest.raises(ValueError, match=r"download failed.*size 10240 but has size 100"):
        download("org/model", cache_dir=tmp_path)
    assert not list(tmp_path.rglob("model.safetensors"))


@pytest.mark.integration
def test_a_broken_transfer_is_no_lasting_harm(hub, tmp_path):
    hub.cut = "once"
    with contextlib.suppress(ValueError):  # recent versions of huggingface_hub try again by themselves
        download("org/model", cache_dir=tmp_path)
    folder = download("org/model", cache_dir=tmp_path)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert hub.requests.count(("GET", "/cdn/org/model")) == 2


@pytest.mark.parametrize("name", ["hf:", "hf:@main", "hf:org/model@"])
def test_parse_refuses(name):
    with pytest.raises(ValueError, match="expected 'hf:org/repo'"):
        parse(name)
