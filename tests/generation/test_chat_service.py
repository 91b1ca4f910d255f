"""Conversations in a SavedModel: messages in, answers out, a row's errors by themselves."""

from __future__ import annotations

import pytest
import tensorflow as tf
from generating import causal_lm, lively

from keras_transformers.generation.serving.chat_service import _behind, conversation_errors, with_same_rows
from keras_transformers.tasks import Task
from keras_transformers.text.chat.template import ChatTemplate, with_template

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('The system comes first.') }}{% endif %}{{ m.role[0] + ': ' + (m.content | trim) + '. ' }}"
    "{% endfor %}{% if think is defined and think %}{{ 'Hm. ' }}{% endif %}{% if add_generation_prompt %}{{ 'a:' }}"
    "{% endif %}"
)
TALKS = [
    [("user", "the cat ")],
    [("system", "sat"), ("user", "the mat"), ("assistant", "day"), ("user", "é")],
    [("user", "a"), ("system", "sat")],
    [("usr", "a")],
    [],
    [("user", "the cat sat on the mat " * 9)],
]


def columns(talks):
    width = max(map(len, talks))
    role, content = (
        tf.constant([[*(turn[part] for turn in talk), *[""] * (width - len(talk))] for talk in talks], tf.string)
        for part in (0, 1)
    )
    return {"role": role, "content": content}


def chat_task(template: str = TEMPLATE) -> Task:
    made = causal_lm()
    task = Task("causal_lm", made.config, with_template(made.tokenizer, template))
    lively(task.model)
    return task


@pytest.fixture(scope="module")
def task():
    return chat_task()


@pytest.fixture(scope="module")
def exported(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat") / "1"
    task.export(folder, max_new_tokens=6, template_inputs={"think": True})
    return tf.saved_model.load(str(folder))


@pytest.mark.integration
def test_an_export_answers_as_the_task(task, exported):
    chat = exported.signatures["chat"]
    for think in (False, True):
        found = {
            name: column.numpy().tolist()
            for name, column in chat(think=tf.fill([len(TALKS)], think), **columns(TALKS)).items()
        }
        for row, talk in enumerate(TALKS[:2]):
            messages = [{"role": role, "content": content} for role, content in talk]
            (expected,) = task.predict(messages=[messages], max_new_tokens=6, template_variables={"think": think})
            assert found["generated_text"][row].decode() == expected["generated_text"]
            assert found["score"][row] == pytest.approx(expected["score"], abs=1e-5)
            assert found["error"][row] == b""
        errors = [error.decode() for error in found["error"][2:]]
        assert errors[0] == "The system comes first."
        assert errors[1].startswith("A role is unknown: expected one of system, user, assistant")
        assert errors[2] == "The conversation has no messages."
        assert errors[3].startswith("The conversation and max_new_tokens exceed")
        assert found["num_tokens"][2:] == [0] * 4


@pytest.mark.integration
def test_parameters_are_inputs(task, exported):
    ask = exported.signatures["generate_chat"]
    inputs = ask.structured_input_signature[1]
    from keras_transformers.generation.request import SAMPLING_PARAMETERS

    values = {
        name: tf.fill([2], tf.constant(SAMPLING_PARAMETERS[name].neutral, inputs[name].dtype))
        for name in inputs.keys() - {"role", "content", "stop", "think"}
    }
    values |= {"max_new_tokens": tf.constant([2, 5]), "stop": tf.constant([[""], [""]]), "think": tf.fill([2], False)}
    answer = ask(**columns([TALKS[0], TALKS[0]]), **values)
    assert answer["num_tokens"].numpy().tolist() == [2, 5]
    for name, message in (("think", "one row a conversation"), ("content", "one shape")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            ask(
                **columns([TALKS[0], TALKS[0]])
                | values
                | {name: values["think"][:1] if name == "think" else tf.constant([["a"]])}
            )


def test_inputs_of_other_rows_are_refused_before_anything_is_read():
    inputs = tf.function(lambda *inputs: with_same_rows(*inputs)).get_concrete_function(
        tf.TensorSpec([None, None], tf.string), tf.TensorSpec([None, None], tf.string), tf.TensorSpec([None], tf.bool)
    )
    ops = inputs.graph.get_operations()
    gated = [op for op in ops if op.type == "Identity" and op.inputs[0].op.type == "Placeholder"]
    assert len(gated) == 3
    for op in gated:
        assert sum("assert" in check.name for check in op.control_inputs) == 2, op.name


@pytest.mark.integration
def test_no_conversations(exported):
    none = tf.zeros([0, 0], tf.string)
    answer = exported.signatures["chat"](role=none, content=none, think=tf.zeros([0], tf.bool))
    assert answer["generated_text"].shape == (0,)


@pytest.mark.integration
def test_a_template_that_no_graph_can_hold(tmp_path):
    task = chat_task("{% for m in messages %}{{ m.content | filesizeformat }}{% endfor %}")
    with pytest.warns(UserWarning, match="the export has no signature chat, as the chat template .*filesizeformat"):
        task.export(tmp_path / "1", max_new_tokens=2)
    assert "chat" not in tf.saved_model.load(str(tmp_path / "1")).signatures
    with pytest.raises(ValueError, match="filesizeformat"):
        task.export(tmp_path / "2", chat=True)
    assert not (tmp_path / "2").exists()


@pytest.mark.integration
def test_an_answer_has_the_length_that_the_task_gives(task, tmp_path):
    task.export(tmp_path / "1")
    talk = [("user", "the cat")]
    answer = tf.saved_model.load(str(tmp_path / "1")).signatures["chat"](**columns([talk]))
    (expected,) = task.predict(messages=[[{"role": role, "content": content} for role, content in talk]])
    assert answer["num_tokens"].numpy() == [expected["num_tokens"]]
    assert answer["generated_text"].numpy()[0].decode() == expected["generated_text"]


@pytest.mark.integration
def test_wrong_options(task, tmp_path):
    for options, error in (
        ({"template_inputs": {"think": 7}}, "a bool or a str each"),
        ({"template_inputs": {"thnk": True}}, r"no variables \['thnk'\]"),
        ({"template_variables": {"thnk": True}}, r"no variables \['thnk'\]"),
    ):
        with pytest.raises(ValueError, match=error):
            task.export(tmp_path / "1", **options)
    with pytest.raises(ValueError, match="the tokenizer has no chat template"):
        causal_lm().export(tmp_path / "1", chat=True)


@pytest.mark.integration
def test_a_template_that_is_no_jinja_is_no_reason_not_to_export():
    """Nothing is exported here: `export` writes the signatures that this returns."""
    task = causal_lm()
    files = {**task.tokenizer.files, "chat_template.jinja": b"{% if %}"}
    broken = Task("causal_lm", task.config, task.tokenizer.with_files(files))
    writing = broken.parts.answers
    with pytest.warns(UserWarning, match="the export has no signature chat, as line 1 of the chat template"):
        assert writing._chat_signatures(None, {}, {}, {}) is None
    with pytest.raises(ValueError, match="line 1 of the chat template is not Jinja"):
        writing._chat_signatures(True, {}, {}, {})


def test_errors_whatever_the_template():
    role = tf.constant([["user", "", "user"], ["", "", ""], ["user", "assistant", ""], ["user", "x", ""]])
    role = tf.concat([role, role[2:3]], 0)
    content = tf.constant([["Hello", "", ""]] * 4 + [["Hello", "Hi", "lost"]])
    errors = [error.decode() for error in conversation_errors(role, content, ChatTemplate("'tool'")).numpy()]
    assert errors == [
        "A message without a role precedes others: roles are empty only behind the last message.",
        "The conversation has no messages.",
        "",
        "A role is unknown: expected one of system, user, assistant, tool.",
        "A content has no role: give it one, or an empty content.",
    ]


@pytest.mark.integration
def test_an_export_has_its_system_prompt_before_each_conversation(task, tmp_path):
    task.export(tmp_path / "1", prefix="one mat", max_new_tokens=6)
    served = tf.saved_model.load(str(tmp_path / "1")).signatures
    answer = served["chat"](**columns([[("user", "the cat ")], [("system", "sat"), ("user", "a")], []]))
    told = [error.decode() for error in answer["error"].numpy()]
    assert told[0] == "" and "The system comes first" in told[1] and told[2] == "The conversation has no messages."
    talk = [{"role": "system", "content": "one mat"}, {"role": "user", "content": "the cat "}]
    assert answer["generated_text"].numpy()[0].decode() == task.chat(talk, max_new_tokens=6)
    text = served["serving_default"](text=tf.constant(["the cat"]))["generated_text"].numpy()[0]
    assert text.decode() == task.generate(["the cat"], prefix="one mat", max_new_tokens=6)[0]


def test_a_text_that_begins_otherwise_is_told():
    rest, is_behind = _behind(tf.constant(["ä: b", "a", ""]), "ä: ")
    assert rest.numpy().tolist()[0] == b"b" and is_behind.numpy().tolist() == [True, False, False]
