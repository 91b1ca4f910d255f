from __future__ import annotations

import pytest

from keras_transformers.checkpoints.files.yaml_file import MOST_BYTES, read_yaml


@pytest.mark.integration(
    quick=[
        "a: !!python/object/apply:os.system [true]\\n-no YAML",
        "a: &a [x]\\nb: [*a, *a]\\n-it contains an alias",
        "a: [-no YAML",
        "a: \\xff\\n-UTF-8",
        "content5-more than",
    ]
)
@pytest.mark.parametrize(
    "content, message",
    [
        (b"a: &a [x]\nb: [*a, *a]\n", "it contains an alias"),
        (b"a: !!python/object/apply:os.system [true]\n", "no YAML"),
        (b"a: [", "no YAML"),
        (b"[" * 20_000, "no YAML"),
        (b"a: \xff\n", "UTF-8"),
        (b"#" * (MOST_BYTES + 1), "more than"),
    ],
)
def test_what_is_refused(tmp_path, content, message):
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_yaml(path)


@pytest.mark.parametrize("content", ["", "- 1\n- 2\n", "text"])
def test_another_value_is_no_mapping(tmp_path, content):
    (tmp_path / "params.yaml").write_text(content)
    assert read_yaml(tmp_path / "params.yaml") == {}
