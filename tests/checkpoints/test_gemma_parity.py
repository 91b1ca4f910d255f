"""Gemma beside `transformers`: faults that must show, files of other forms, real widths, bfloat16, texts and exports.

`python -m pytest -n 0 -m "parity and slow" tests/checkpoints/test_gemma_parity.py` prints the figures of real widths.
"""

from __future__ import annotations

import json
import re

import bare
import keras
import numpy as np
import pytest
from family_cases import CASES
from gemma_tokenizer import RUNS, gemma, write_gemma
from generating import Generator, language_model
from messages import messages
from mutations import effects, rewrite, swap, swap_norms
from processes import run_on_jax
from token_rows import differing, mismatches, rough_texts
from training_steps import compare, read_by_them

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.text.graph.compile import compile_text

pytestmark = pytest.mark.parity
BOUND = 1e-4
FAMILIES = ("gemma", "gemma2", "gemma3_text")


def reference_of(folder, theirs, config, task="causal_lm", **options):
    architecture = architecture_of(task, config.family)
    return theirs.make(folder, architecture, **options, **make_config(config, architecture))


def read(folder, ours):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"], 2)
    load_weights(model, folder)
    return config, model


def swap_output_norms(model):
    block = model.get_layer("decoder_block_1")
    swap(block.attention_output_norm, block.feed_forward_output_norm)


def swap_head_norms(model):
    attention = model.get_layer("decoder_block_1").attention
    swap(attention.query_norm, attention.key_norm)


def take_weights_for_factors(model):
    """As with an RMS norm whose weights are no offsets from 1."""
    norm = model.get_layer("final_norm")
    norm.set_weights([weight - 1 for weight in norm.get_weights()])


@pytest.mark.parametrize("family", FAMILIES)
def test_faults_show(tmp_path, ours, theirs, family):
    reference = reference_of(tmp_path, theirs, CASES[family].compared())
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config, length=21)
    expected = theirs.predict(reference, inputs)
    faults = [swap_norms, take_weights_for_factors]
    faults += [swap_output_norms] if config.norm_order == "sandwich" else []
    faults += [swap_head_norms] if config.head_norm else []
    found = effects(
        model,
        faults,
        restore=lambda: load_weights(model, tmp_path),
        difference=lambda: ours.difference(ours.predict(model, inputs), expected),
    )
    assert min(found.values()) > 100 * BOUND, found


FIELDS = {
    "attention_soft_cap": (2.0, 3.0), "logits_soft_cap": (3.0, None), "attention_scale": (5**-0.5, None),
    "scale_embeddings": (True, False), "activation": ("gelu_tanh", "gelu"), "max_wavelength": (500.0, 400.0),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_options_show(tmp_path, ours, theirs, field):
    """With another value of each, the model differs: none is read and then not used."""
    right, wrong = FIELDS[field]
    reference = reference_of(tmp_path, theirs, CASES["gemma2"].compared().replace(**{field: right}))
    config, _ = read(tmp_path, ours)
    inputs = ours.batch(config, length=21)
    expected, found = theirs.predict(reference, inputs), []
    for value in (right, wrong):
        model = ours.build(config.replace(**{field: value}), architecture_of("causal_lm", "gemma2"))
        load_weights(model, tmp_path)
        found.append(ours.difference(ours.predict(model, inputs), expected))
    assert found[0] < BOUND and found[1] > 2 * BOUND


@pytest.mark.parametrize("values", [{"hidden_act": "gelu"}, {"hidden_act": "gelu", "hidden_activation": None}])
def test_early_files_of_gemma_mean_the_tanh_form(tmp_path, ours, theirs, values):
    reference = reference_of(tmp_path, theirs, CASES["gemma"].compared())
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    again = type(reference).from_pretrained(tmp_path).eval()
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config, length=21)
    assert config.activation == "gelu_tanh"
    assert ours.difference(ours.predict(model, inputs), theirs.predict(again, inputs)) < BOUND


VISION = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip


def of_images(folder, config, seed=0):
    """A random model of `transformers` that reads images, too, with the text part of a configuration."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(seed)
    text = {key: value for key, value in make_config(config, "Gemma3ForCausalLM").items() if key != "architectures"}
    values = transformers.Gemma3Config(
        text_config=text, vision_config=VISION, mm_tokens_per_image=4, image_token_index=80
    )
    model = transformers.Gemma3ForConditionalGeneration(values).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.3)
    model.save_pretrained(folder)
    return model


def newer(name):
    """The name of a tensor as early files of version 5 have it."""
    for old, new in (("language_model.lm_head", "lm_head"), ("language_model.model", "model.language_model")):
        name = name.replace(old, new)
    return f"model.{name}" if name.startswith(("vision_tower", "multi_modal")) else name


@pytest.mark.filterwarnings("ignore:.*only its text part is loaded")
@pytest.mark.parametrize("change", [lambda name: name, newer], ids=["version 4", "version 5"])
def test_the_text_part_of_a_model_that_reads_images(tmp_path, ours, theirs, change):
    reference = of_images(tmp_path / "theirs", CASES["gemma3_text"].compared("seven-blocks"))
    rewrite(tmp_path / "theirs", lambda tensors: {change(name): tensor for name, tensor in tensors.items()})
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config, length=21)
    inputs["token_ids"] = np.where(inputs["token_ids"] == 80, 81, inputs["token_ids"])  # no place of an image
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    save_folder(tmp_path / "ours", model, config, None, architecture="Gemma3ForCausalLM")
    again = read_by_them(theirs_of("Gemma3ForCausalLM"), tmp_path / "ours")
    assert ours.difference(theirs.predict(again, inputs), expected) < 1e-5


def theirs_of(architecture):
    return getattr(pytest.importorskip("transformers"), architecture)


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16(tmp_path, theirs, family):
    """The factor of the embeddings is rounded as theirs: the root of 48 is 6.928, in bfloat16 6.9375."""
    import torch

    library = gemma(size=300)
    config = CASES[family].compared().replace(hidden_dim=48, vocabulary_size=library.get_vocab_size(), pad_id=0)
    reference = reference_of(tmp_path, theirs, config).to(torch.bfloat16)
    reference.save_pretrained(tmp_path)
    write_gemma(tmp_path, library)
    task = zoo.load(tmp_path, dtype="bfloat16", outputs=["all_hidden_states"])
    ids = np.random.default_rng(0).integers(5, config.vocabulary_size, (2, 21)).astype("int32")
    with torch.no_grad():
        expected = reference(torch.from_numpy(ids).long(), output_hidden_states=True)
    found = task.model({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    embedded = np.asarray(keras.ops.cast(found["all_hidden_states"][:, 0], "float32"))
    np.testing.assert_array_equal(embedded, expected.hidden_states[0].float().numpy())
    logits = np.asarray(keras.ops.cast(found["logits"], "float32"))
    assert np.abs(logits - expected.logits.float().numpy()).mean() < 3e-2 * np.abs(logits).max()


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_texts_past_the_window(tmp_path, theirs, family):
    """24 new tokens behind prompts of 3 to 11, with windows of 3: cached, and by whole passes."""
    import torch

    case = CASES[family]
    config = case.compared().replace(max_length=64, vocabulary_size=60, eos_ids=(2,))
    reference = reference_of(tmp_path, theirs, config)
    model = language_model(read_config(tmp_path)[0])
    load_weights(model, tmp_path)
    generator, random = Generator(config, model), np.random.default_rng(0)
    prompts = [random.integers(4, 60, length).tolist() for length in random.integers(3, 12, 8)]
    answers = [text.ids for (text,) in generator(prompts, max_new_tokens=24)]
    for prompt, ids in zip(prompts, answers, strict=True):
        with torch.no_grad():
            made = reference.generate(torch.tensor([prompt]), max_new_tokens=24, do_sample=False, pad_token_id=3)
        assert ids == made[0, len(prompt) :].tolist()
        whole = list(prompt)
        for _ in ids:
            whole.append(int(generator.logits(whole)[-1].argmax()))
        assert whole == prompt + ids
    assert len({tuple(ids) for ids in answers}) == len(answers) and max(map(len, answers)) == 24


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    """A random language model of `transformers` beside a tokenizer of Gemma's kind."""
    made, library = tmp_path_factory.mktemp(request.param), gemma(texts=messages(), size=500, added=RUNS)
    config = CASES[request.param].small(
        vocabulary_size=library.get_vocab_size(), hidden_dim=32, max_length=64, pad_id=0, bos_id=2, eos_ids=[1]
    )
    reference_of(made, request.getfixturevalue("theirs"), config)
    write_gemma(made, library)
    return made


def test_texts(folder, tmp_path):
    """Tokens and answers of the task, its folder and its export."""
    import torch
    import transformers

    task = zoo.load(folder)
    theirs, texts = transformers.AutoTokenizer.from_pretrained(folder), [*messages()[:50], *rough_texts()]
    graph = compile_text(task.tokenizer.to_json(), task.tokenizer.pad_id)
    assert not differing(task.tokenizer, theirs, texts)
    assert not mismatches(task.tokenizer, graph, texts)

    prompts = [text for text in messages()[:6] if len(text) < 60]
    answers = task.generate(prompts, max_new_tokens=12)
    task.export(tmp_path / "export", max_new_tokens=12)
    served = bare.ask(tmp_path / "export", {"serving_default": {"text": prompts}})["serving_default"]
    assert served["generated_text"] == answers and len(set(answers)) > 1
    task.save(tmp_path / "saved")
    for place in (folder, tmp_path / "saved"):
        model = transformers.AutoModelForCausalLM.from_pretrained(place).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(place)
        for prompt, answer in zip(prompts, answers, strict=True):
            ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                made = model.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0)
            assert text_of(tokenizer, made[0, ids.shape[1] :].tolist()) == answer


def text_of(tokenizer, ids):
    """The text of ids; bytes that are no letter become U+FFFD, and not all bytes beside them, as their decoder does."""
    tokens = tokenizer.convert_ids_to_tokens([i for i in ids if i not in tokenizer.all_special_ids])
    is_byte = re.compile("<0x(..)>").fullmatch
    spelled = [bytes.fromhex(m[1]) if (m := is_byte(token)) else token.replace("▁", " ").encode() for token in tokens]
    return b"".join(spelled).decode("utf-8", "replace")


def test_ranking_by_the_logit_of_a_token(folder, tmp_path):
    """As bge-reranker-v2-gemma, a plain folder, scores pairs by "Yes"."""
    import torch
    import transformers

    task = zoo.load(folder, task="ranking", score_tokens=[300])
    learned = [text for text in messages() if len(text) < 30][:8]
    queries, documents = learned[:4], learned[4:]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        rows = [tokenizer([pair[0]], [pair[1]], return_tensors="pt") for pair in zip(queries, documents, strict=True)]
        expected = [model(row["input_ids"]).logits[0, -1, 300].item() for row in rows]
    found = [row["score"] for row in task.predict(queries, documents)]
    np.testing.assert_allclose(found, expected, atol=BOUND)
    task.export(tmp_path / "export")
    served = bare.ask(tmp_path / "export", {"serving_default": {"text": queries, "text_pair": documents}})
    np.testing.assert_allclose(served["serving_default"]["score"], expected, atol=BOUND)


def test_a_step_with_adapters(folder, tmp_path):
    task = zoo.load(folder, lora_rank=2, seed=0)
    history = task.fit(messages()[:60], epochs=1, batch_size=4, learning_rate=1e-2).history
    assert np.isfinite(history["loss"]).all()
    task.save(tmp_path / "saved")
    models = (zoo.load(folder), task, zoo.load(tmp_path / "saved"))
    before, after, again = (model.evaluate(messages()[:60])["cross_entropy"] for model in models)
    assert abs(after - before) > 1e-3 and again == pytest.approx(after, abs=1e-4)


ON_JAX = """
import numpy as np, zoo
for folder in FOLDERS:
    expected = np.load(folder + "/expected.npz")
    task = zoo.load(folder)
    found = task.model({name: expected[name] for name in ("token_ids", "padding_mask")})["logits"]
    print(float(np.abs(np.asarray(found) - expected["logits"]).max()))
"""


@pytest.mark.slow
def test_logits_on_jax(folder):
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = np.random.default_rng(0).integers(5, 300, (2, 21)).astype("int32")
    with torch.no_grad():
        logits = model(torch.from_numpy(ids).long()).logits.numpy()
    np.savez(folder / "expected.npz", token_ids=ids, padding_mask=np.ones_like(ids), logits=logits)
    script = ON_JAX.replace("FOLDERS", repr([str(folder)]))
    assert float(run_on_jax(script)) < BOUND
    (folder / "expected.npz").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "blocks"), [("gemma3_270m", 7), ("gemma2_2b", 2)])
def test_real_widths(tmp_path, ours, theirs, capsys, name, blocks):
    """The first blocks, and 8,000 tokens; one text longer than the window of Gemma 3."""
    config = zoo.describe(name).config
    config = config.replace(num_layers=blocks, vocabulary_size=8000, block_options=config.block_options[:blocks])
    found = compare(tmp_path, ours, theirs, config, "causal_lm", rows=1, length=600, gain=0.5)
    with capsys.disabled():
        print(f"\n{name}, {blocks} blocks: " + ", ".join(f"{what} {value:.1e}" for what, value in found.items()))
    assert found["gradients"] < BOUND and found["logits"] < 1e-5 * found["largest logit"]  # which is 110 there
