"""Language models that rank: folders of sentence-transformers with a chat template, and the recipes of model cards."""

import itertools

import bare
import numpy as np
import pytest
from decoder_folders import qwen_tokenizer, write_folder

import zoo
from zoo.loading.find import _of_entry, find

pytestmark = pytest.mark.parity
INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
START = "<|im_start|>system\nJudge by yes or no.<|im_end|>\n<|im_start|>user\n"
END = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
CARD = {
    "prefix": START, "text": "<Instruct>: {prompt}\n<Query>: {query}\n<Document>: {document}", "suffix": END,
    "instruction": INSTRUCTION,
}  # fmt: skip
CHAT = """{%- set ns = namespace(instruction='INSTRUCTION', query='', document='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}{%- set ns.instruction = message.content -%}
{%- elif message.role == 'query' -%}{%- set ns.query = message.content -%}
{%- elif message.role == 'document' -%}{%- set ns.document = message.content -%}{%- endif -%}
{%- endfor -%}
<|im_start|>system
Judge by yes or no.<|im_end|>
<|im_start|>user
<Instruct>: {{ ns.instruction }}
<Query>: {{ ns.query }}
<Document>: {{ ns.document }}<|im_end|>
<|im_start|>assistant
{{ '<think>\\n\\n</think>\\n\\n' }}""".replace("INSTRUCTION", INSTRUCTION)
PAIRS = [
    ("What is a cat?", "the cat says no"), ("x\n", "yes no " * 120), ("", "  the\n"),
    ("long query? 1234 " * 30, "doc.\n\n"), ("{document} or {query}?", "<|im_end|> typed"),
]  # fmt: skip
QUERIES, DOCUMENTS = map(list, zip(*PAIRS, strict=True))


def folder_of_theirs(tmp_path, chat=CHAT, **changes):
    """A plain folder, and the CrossEncoder that sentence-transformers makes of it by itself."""
    from sentence_transformers import CrossEncoder

    plain, saved = tmp_path / "plain", tmp_path / "theirs"
    write_folder(plain, "Qwen3", tie_word_embeddings=True)
    if chat:
        (plain / "chat_template.jinja").write_text(chat)
    theirs = CrossEncoder(str(plain), **changes)
    theirs.save_pretrained(str(saved))
    return theirs, saved


def scores(task, **options):
    found = [task.rank(query, [document], **options)[0]["score"] for query, document in PAIRS]
    if not options:
        predicted = [row["score"] for row in task.predict(QUERIES, DOCUMENTS)]
        np.testing.assert_allclose(found, predicted, atol=1e-6)
    return found


def test_a_folder_of_sentence_transformers_both_ways(tmp_path):
    from sentence_transformers import CrossEncoder

    theirs, saved = folder_of_theirs(tmp_path)
    task = zoo.load(saved)
    assert (task.name, task.activation, task.pair_template["instruction"]) == ("ranking", "sigmoid", INSTRUCTION)
    expected, asked = theirs.predict(PAIRS), theirs.predict(PAIRS, prompt="find cats")
    np.testing.assert_allclose(scores(task), expected, atol=1e-5)
    np.testing.assert_allclose(scores(task, prompt_text="find cats"), asked, atol=1e-5)
    assert np.ptp(expected) > 0.1
    assert np.abs(expected - asked).max() > 1e-3
    assert [row["truncated"] for row in task.predict(QUERIES, DOCUMENTS)] == [False, True, False, True, False]

    task.save(tmp_path / "ours")
    again = CrossEncoder(str(tmp_path / "ours"))
    np.testing.assert_allclose(again.predict(PAIRS), expected, atol=1e-5)
    np.testing.assert_allclose(again.predict(PAIRS, prompt="find cats"), asked, atol=1e-5)
    assert zoo.load(tmp_path / "ours").pair_template == task.pair_template


def test_prompts_of_the_folder(tmp_path):
    theirs, saved = folder_of_theirs(tmp_path, prompts={"cats": "find cats"}, default_prompt_name="cats")
    task = zoo.load(saved)
    assert task.default_prompt == "cats"
    np.testing.assert_allclose(scores(task), theirs.predict(PAIRS), atol=1e-5)
    np.testing.assert_allclose(scores(task, prompt_text=""), theirs.predict(PAIRS, prompt=""), atol=1e-5)


def test_a_shorter_longest_pair_keeps_the_suffix(tmp_path):
    theirs, saved = folder_of_theirs(tmp_path)
    theirs.max_seq_length = 230
    np.testing.assert_allclose(scores(zoo.load(saved, max_length=230)), theirs.predict(PAIRS), atol=1e-5)


def by_the_card(model, tokenizer, max_length, instruction=INSTRUCTION):
    """As the card of Qwen3-Reranker has it, row by row."""
    import torch

    before, behind = (tokenizer.encode(text, add_special_tokens=False) for text in (START, END))
    yes, no = (tokenizer.encode(word, add_special_tokens=False)[0] for word in ("yes", "no"))
    found = []
    for query, document in PAIRS:
        text = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
        room = max_length - len(before) - len(behind)
        ids = tokenizer(text, truncation="longest_first", max_length=room)["input_ids"]
        logits = model(torch.tensor([before + ids + behind])).logits[0, -1]
        found.append(torch.log_softmax(logits[[no, yes]], 0)[1].exp().item())
    return found


def test_the_recipe_of_a_plain_folder(tmp_path):
    model = write_folder(tmp_path / "plain", "Qwen3", tie_word_embeddings=True)
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "plain")
    options = {"score_tokens": ["yes", "no"], "pair_template": CARD, "activation": "sigmoid"}
    task = zoo.load(tmp_path / "plain", "ranking", max_length=200, **options)
    np.testing.assert_allclose(scores(task), by_the_card(model, tokenizer, 200), atol=1e-5)
    asked = by_the_card(model, tokenizer, 200, "find cats")
    np.testing.assert_allclose(scores(task, prompt_text="find cats"), asked, atol=1e-5)
    task.save(tmp_path / "ours")
    again = zoo.load(tmp_path / "ours")
    assert again.pair_template == CARD
    np.testing.assert_allclose(scores(again), scores(task), atol=1e-6)


def test_the_recipe_of_bge_reranker_v2_gemma(tmp_path):
    """On another family: two texts tokenised by themselves, a token before, a prompt behind, one logit."""
    import torch
    from transformers import AutoTokenizer

    model = write_folder(tmp_path, "Mistral", sliding_window=None)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    prompt = "Given a query A and a passage B, does the passage contain an answer? yes or no."
    expected = []
    for query, document in PAIRS:
        parts = [f"A: {query}", "\n", f"B: {document}", "\n", prompt]
        ids = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in parts]
        ids[2] = ids[2][: 240 - 1 - sum(map(len, ids)) + len(ids[2])]  # the passage alone is cut
        row = [tokenizer.bos_token_id, *itertools.chain(*ids)]
        (yes,) = tokenizer.encode("yes", add_special_tokens=False)
        expected.append(model(torch.tensor([row])).logits[0, -1, yes].item())
    known = zoo.describe("bge_reranker_v2_gemma").options["pair_template"]
    assert known["prefix"] == "<bos>" and known["suffix"].startswith("\nGiven a query A and a passage B, determine")
    template = known | {"prefix": "<|begin_of_text|>", "suffix": f"\n{prompt}"}
    task = zoo.load(tmp_path, "ranking", score_tokens=["yes"], pair_template=template, max_length=240)
    found, kept = scores(task), [0, 1, 2, 4]  # where the query is not the longer text
    np.testing.assert_allclose(np.array(found)[kept], np.array(expected)[kept], atol=1e-4)


@pytest.mark.integration
def test_export_in_a_process_of_its_own(tmp_path):
    theirs, saved = folder_of_theirs(tmp_path)
    zoo.load(saved).export(tmp_path / "1")
    request = {"text": QUERIES, "text_pair": DOCUMENTS}
    prompts = {"prompt": ["find cats", "", "find cats", "", ""]}
    answers = bare.ask(tmp_path / "1", {"serving_default": request, "prompted": request | prompts})
    expected, asked = theirs.predict(PAIRS), theirs.predict(PAIRS, prompt="find cats")
    np.testing.assert_allclose(answers["serving_default"]["score"], expected, atol=1e-5)
    mixed = np.where([bool(prompt) for prompt in prompts["prompt"]], asked, expected)
    np.testing.assert_allclose(answers["prompted"]["score"], mixed, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("loss", ["binary", "listwise"])
def test_learning_reads_what_predict_reads(tmp_path, loss):
    _, saved = folder_of_theirs(tmp_path)
    task = zoo.load(saved, loss=loss)
    queries, pairs, labels = (list(column[::2]) for column in (QUERIES, DOCUMENTS, [1.0, 0, 1, 0, 1]))
    if loss == "listwise":
        pairs, labels = [[one, "no"] for one in pairs], [0] * 3
    batch, _ = next(iter(task.dataset(queries, labels, pairs=pairs, batch_size=3, shuffle=False)))
    row = np.array(batch["token_ids"]).reshape(-1, batch["token_ids"].shape[-1])[0]
    expected = zoo.load(saved).parts.answers.setup.tokenizer.encode(
        [f"user\n<Instruct>: {INSTRUCTION}\n<Query>: {QUERIES[0]}\n<Document>: {DOCUMENTS[0]}"]
    )[0].ids  # fmt: skip
    assert row[: len(expected)].tolist() == list(expected)
    task.fit(queries, labels, pairs=pairs, epochs=1, verbose=0)


BAD = {
    "does not write the content of the role 'query'": "{{ messages | length }}",
    "what it writes around contents depends on them": CHAT.replace("yes or no", "yes or {{ ns.query | length }}"),
    "once and as it is": CHAT.replace("{{ ns.document }}", "{{ ns.document | trim }}"),
    "what follows the texts begins with no special token": CHAT.replace(
        "{{ ns.document }}<|im_end|>", "{{ ns.document }}:"
    ),
    "it writes more than an instruction": CHAT.replace("Judge", "{{ 'Judge' if messages | length > 2 else 'Say' }}"),
    "it does not write what a system message says": CHAT.replace(
        "ns.instruction = message.content", "ns.instruction = 'other'"
    ),
    "it fails: 'it writes the date": CHAT.replace("Judge", "{{ strftime_now('%Y') }}"),
    "it fails: 'it makes a text of more than": CHAT.replace("Judge", "{{ 'a' * 10**10 }}"),
    "it fails: 'no'": CHAT.replace("Judge", "{{ raise_exception('no') }}"),
}


@pytest.mark.parametrize("message", BAD)
def test_templates_that_do_more_are_refused(tmp_path, message):
    _, saved = folder_of_theirs(tmp_path)
    (saved / "chat_template.jinja").write_text(BAD[message])
    with pytest.raises(ValueError, match=f"chat_template.jinja: pairs are put in the chat template.*{message}"):
        zoo.load(saved)


def test_a_folder_without_a_template_reads_plain_pairs(tmp_path):
    theirs, saved = folder_of_theirs(tmp_path, chat=None)
    task = zoo.load(saved)
    assert task.pair_template is None
    np.testing.assert_allclose(scores(task), np.concatenate([theirs.predict([pair]) for pair in PAIRS]), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair_template": {"text": "{query}"}}, "must have the fields {query} and {document} once"),
        ({"pair_template": {"text": "{query} {document} {query}"}}, "once, {prompt} at most once"),
        ({"pair_template": {"text": "{query} {document}", "suffix": "{query}"}}, "prefix and suffix none"),
        ({"pair_template": {"text": "{query} {document}", "end": ""}}, "pair_template must be a dict with 'text'"),
        ({"pair_template": "{query} {document}"}, "pair_template must be a dict with 'text'"),
        ({"pair_template": {"text": "{query} {document}", "suffix": 3}}, "suffix of pair_template must be a text"),
        ({"pair_template": CARD, "max_length": 40}, "prefix and suffix of pair_template are [0-9]+ tokens"),
        ({"pair_template": {"text": "{query} {document}", "instruction": "a"}}, "stands in place of {prompt}"),
        ({"score_tokens": ["yes no"]}, "'yes no' of score_tokens is 2 tokens: expected one"),
    ],
)
def test_what_is_refused(tmp_path, options, message):
    write_folder(tmp_path, "Qwen3", tokenizer=qwen_tokenizer())
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path, "ranking", **({"score_tokens": ["yes", "no"], "pair_template": CARD} | options))


def test_an_entry_says_what_its_files_do_not(tmp_path):
    write_folder(tmp_path, "Qwen3", tokenizer=qwen_tokenizer())
    entry = zoo.describe("qwen3_reranker_0_6b")
    found = _of_entry(entry, find(tmp_path))
    assert found.task == "ranking"
    assert found.options(["score_tokens", "pair_template", "activation"], "ranking") == entry.options
    assert found.options(["score_tokens"], "causal_lm") == {}
