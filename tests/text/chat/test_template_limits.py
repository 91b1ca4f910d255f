"""Hostile chat templates end in an error, soon and without memory; others write what Jinja's own sandbox writes."""

from __future__ import annotations

import time

import pytest
from jinja2 import ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from keras_transformers.text.chat import template_limits
from keras_transformers.text.chat.compiled_chat import compile_chat
from keras_transformers.text.chat.sandbox import environment
from keras_transformers.text.chat.template import ChatTemplate, find_template, with_template
from keras_transformers.text.tokenizer import Tokenizer

USER = [{"role": "user", "content": "Hello"}]
LONG, MANY = "a text of more than 10,000,000 characters", "a list of more than 1,000,000 items"
BIG = "{% set s = 'abcdefghij' * 300000 %}"  # 3,000,000 characters
HOSTILE = {
    "{{ 'a' * 10**10 }}": LONG,
    "{{ 10**10 * 'a' }}": LONG,
    "{{ [0] * 10**10 }}": MANY,
    "{{ 10 ** (10 ** 10) }}": "a number of more than 1,024 bits",
    "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}": "1,024 bits",
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}": LONG,
    "{% set n = namespace(x=[0]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}": MANY,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = [n.x, n.x]|join %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = '-'.join([n.x, n.x]) %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = '%s%s' % (n.x, n.x) %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = '%s%s'|format(n.x, n.x) %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = '{}{}'.format(n.x, n.x) %}{% endfor %}": LONG,
    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x %}{{ n.x ~ n.x }}{% endset %}{% endfor %}": LONG,
    BIG + "{{ s.replace('a', s) }}": LONG,
    BIG + "{{ s|replace('a', s) }}": LONG,
    BIG + "{{ s.translate({97: s}) }}": LONG,
    BIG + "{{ s|list|join(s) }}": MANY,
    BIG + "{{ ('\n' * 900)|indent(s) }}": LONG,
    BIG + "{{ s|wordwrap(2, true, s) }}": LONG,
    BIG + "{{ s }}{{ s }}{{ s }}{{ s }}": LONG,
    BIG + "{% macro m() %}{{ s }}{{ s }}{{ s }}{{ s }}{% endmacro %}{{ m()|length }}": LONG,
    "{{ 'a'.center(10**10) }}": LONG,
    "{{ 'a'.zfill(10**10) }}": LONG,
    "{{ '\t'.expandtabs(10**10) }}": LONG,
    "{{ 'a'|center(10000000000) }}": LONG,
    "{{ '%10000000000d' % 1 }}": "it formats with '%10000000000'",
    "{{ '%(a)10000000000d' % {'a': 1} }}": "it formats with",
    "{{ '%*d' % (10000000000, 1) }}": "it formats with",
    "{{ '{:10000000000}'.format(1) }}": "it formats with",
    "{{ '{:{w}}'.format(1, w=10000000000) }}": "it formats with",
    "{{ '{a:10000000000}'.format_map({'a': 1}) }}": "it formats with",
    "{{ [1]|batch(10**10, 0)|list }}": MANY,
    "{{ [1]|slice(10**10)|list }}": MANY,
    "{{ 1.5|round(10**10, 'ceil') }}": "1,024 bits",
    "{{ [[1], [2]]|sum(start=[]) }}": "only numbers are summed",
    "{{ [1]|tojson(indent=10**10) }}": "indents JSON by more than 100",
    "{{ '%(a(b)c)10000000000d' % {'a(b)c': 1} }}": "it formats with",
    "{{ '%.10000000000f' % 1.5 }}": "it formats with",
    "{% set n = namespace(x=[9]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}": LONG,
    "{% set n = namespace(x=[9]) %}{% for i in range(99) %}{% set n.x = [n.x] * 2 %}{% endfor %}": LONG,
    "{% set n = namespace(x=(9,)) %}{% for i in range(99) %}{% set n.x = {1: n.x, 2: n.x} %}{% endfor %}": LONG,
    "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = dict(a=n.x, b=n.x) %}{% endfor %}": LONG,
    "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = [n.x]|batch(2, n.x)|list %}{% endfor %}": LONG,
    "{% macro m(i) %}{{ m(i - 1, varargs, varargs) if i }}{% endmacro %}{{ m(99) }}": LONG,
    "{{ ([[[1] * 1000] * 1000] * 100)|string|length }}": LONG,
    "{% set n = namespace(x='\\\\') %}{% for i in range(99) %}{% set n.x = n.x|tojson %}{% endfor %}": LONG,
    BIG + "{{ s|wordwrap(1) }}": LONG,
    "{{ (1).to_bytes(10**10, 'big') }}": LONG,
}
ENDLESS = [
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) if range(99999)|select('odd')|list|length == 0 %}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_too_much(source):
    began = time.monotonic()
    with pytest.raises(ValueError, match="the chat template goes beyond its limits: it ") as error:
        ChatTemplate(source).render(USER)
    assert HOSTILE[source] in str(error.value)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("source", ENDLESS)
def test_too_long(source, monkeypatch):
    monkeypatch.setattr(template_limits, "SECONDS", 0.1)
    with pytest.raises(ValueError, match=r"goes beyond its limits: it runs for more than 0\.1 seconds"):
        ChatTemplate(source).render(USER)
    assert ChatTemplate("{{ messages[0].content }}").render(USER) == "Hello"  # each rendering has its own time


def test_the_error_names_the_file():
    tokenizer = with_template(Tokenizer.train(["a b"], vocabulary_size=20), "{{ 'a' * 10**10 }}")
    with pytest.raises(ValueError, match=r"the chat template in chat_template\.jinja goes beyond its limits"):
        find_template(tokenizer).render(USER)


ORDINARY = [
    "{% for m in messages %}{{ loop.index, loop.length, loop.last }}{{ m.role ~ ': ' ~ m.content }}{% endfor %}",
    "{% for m in messages if m.role == 'x' %}a{% else %}none{% endfor %}{% for a in b %}x{% else %}y{% endfor %}",
    "{% for k, v in messages[0].items() %}{{ loop.previtem, loop.revindex, loop.nextitem }}{{ k + v }}{% endfor %}",
    "{% for i in [3, [4, [5]]] recursive %}{{ loop(i) if i is iterable else i }}{{ loop.depth }}{% endfor %}",
    "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{{ 2 * 3 }}{{ 7 % 4 }}{{ 2 ** 9 }}{{ 1.5 * 2 }}{{ 'ab' * 3 }}{{ [1] * 2 + [3] }}{{ 'a' ~ 1 ~ none ~ missing }}",
    "{{ '%s is %d, %5.1f%%' % ('a', 3, 2.5) }}{{ '%s-%s'|format(1, 2) }}{{ '{:>5}{a}'.format(1, a='x') }}",
    "{{ [1, 2]|join(', ') }}{{ messages|join(';', attribute='role') }}{{ '-'.join(['a', 'b']) }}{{ 'abc'|join('.') }}",
    "{{ 'a\nb'|indent(2) }}{{ 'aXa'|replace('a', 'bb', 1) }}{{ 'x'.center(5) ~ 'a'.replace('a', 'b') ~ [1]|sum }}",
    "{{ [1, 2, 3]|batch(2)|list }}{{ 2.345|round(1) }}{{ 'a b c'|wordwrap(3) }}{{ ['a', 'b']|map('upper')|join }}",
    "{% macro m(x) %}<{{ x }}{{ caller() if caller }}>{% endmacro %}{{ m(1) }}{% call m(2) %}in{% endcall %}",
    "{% set t %}a{{ 1 }}{% endset %}{{ t|upper ~ t }}{% filter upper %}abc{% endfilter %}{{ ('<' ~ '>'|safe)|e }}",
    "{% autoescape true %}{{ messages[0].content ~ '<b>'|safe ~ '<' }}{{ ['<', '<b>'|safe]|join }}{% endautoescape %}",
]


@pytest.mark.parametrize("source", ORDINARY)
def test_other_templates_write_what_jinja_writes(source):
    options = {"trim_blocks": True, "lstrip_blocks": True, "extensions": [ext.loopcontrols]}
    expected = ImmutableSandboxedEnvironment(**options).from_string(source).render(messages=USER)
    assert environment().from_string(source).render(messages=USER) == expected


@pytest.mark.parametrize("source", ["{{ 'a' * 10**10 }}", "{{ 10 ** (10 ** 10) }}", "{{ '%10000000000d' % 1 }}"])
def test_constants_in_a_graph(source):
    prompts, errors = compile_chat(source, {})([["user"]], [["Hello"]])
    assert prompts.numpy().tolist() == [b""] and errors.numpy()[0].startswith(b"it ")
