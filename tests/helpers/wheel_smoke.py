"""Check an installed wheel, where nothing else of the repository can be imported: files, version, answers."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import keras_transformers
import zoo

FILES = {
    Path(keras_transformers.__file__).parent: ["analysis/explorer/assets/*.css", "analysis/explorer/assets/*.js"],
    Path(zoo.__file__).parent: [
        "bundled/sample_messages/train.csv",
        "bundled/*/model.safetensors",
        "bundled/*/README.md",
    ],
}


def main() -> None:
    """Fail where a file is missing, the version is another one, or a bundled model does not answer."""
    package = Path(keras_transformers.__file__)
    assert "site-packages" in package.parts, f"{package} is not an installed package"
    assert importlib.metadata.version("keras_transformers") == keras_transformers.__version__
    for folder, patterns in FILES.items():
        missing = [pattern for pattern in patterns if not list(folder.glob(pattern))]
        assert not missing, f"the wheel lacks {missing} in {folder.name}"
    assert set(zoo.names(bundled=True)) == {
        path.parent.name for path in package.parents[1].glob("zoo/bundled/*/config.json")
    }

    ((hit,),) = zoo.load("minilm_mini_en").search(["a good movie"], ["a wet day", "a fine film"], top=1)
    assert hit["text"] == "a fine film", hit
    assert zoo.load("transformer_mini_en_de").generate(["The cat danced."]) == ["Die Katze tanzte."]
    assert zoo.load("gpt_mini_en").generate(["It was"], max_new_tokens=4)[0].strip()
    print(f"keras_transformers {keras_transformers.__version__}: the wheel is complete, and its models answer")


if __name__ == "__main__":
    main()
