"""Chat templates with the constructs of published ones, and random conversations."""

from __future__ import annotations

import random

CHATML = """\
{%- if messages[0]['role'] == 'system' -%}
    {%- set intro = messages[0]['content'] -%}
{%- else -%}
    {%- set intro = 'Be brief.' -%}
{%- endif -%}
{{- '<|start|>system\\n' + intro + '<|end|>\\n' -}}
{%- for message in messages -%}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) -%}
        {{- '<|start|>' + message.role + '\\n' + message.content + '<|end|>' + '\\n' -}}
    {%- elif message.role == "tool" -%}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") -%}{{- '<|start|>user' -}}{%- endif -%}
        {{- '\\n<reply>' ~ message.content ~ '</reply>' -}}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") -%}{{- '<|end|>\\n' -}}{%- endif -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant\\n' -}}{%- endif -%}
"""  # noqa: E501
THINKING = """\
{%- set ns = namespace(searching=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<reply>') and message.content.endswith('</reply>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{% set content = message.content %}{% else %}{% set content = '' %}{% endif %}
    {%- if message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and thought)) %}
            {{- '[' + message.role + ']<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '[' + message.role + ']' + content }}
        {%- endif %}
    {%- else %}
        {{- '[' + message.role + ']' + content }}
    {%- endif %}
    {{- eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[assistant]' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""  # noqa: E501
HEADERS = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<h>system</h>\\n\\nToday: " + date_string + "\\n\\n" }}
{%- if tools is not none %}{{- tools | tojson(indent=4) }}{%- endif %}
{{- system_message + "<eot>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<h>' + message['role'] + '</h>\\n\\n' + message['content'] | trim + '<eot>' }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<h>ipython</h>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<eot>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<h>assistant</h>\\n\\n' }}{%- endif %}
"""  # noqa: E501
ALTERNATING = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = false -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Roles must alternate, but turn " ~ loop.index ~ " is of " + message.role) }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<turn>' + role + '\\n' + (first_user_prefix if loop.first and first_user_prefix is not false else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '</turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<turn>model\\n'}}{%- endif -%}
"""  # noqa: E501
MACROS = """\
{%- macro show(text, name='text') -%}
    {%- set shown = text | trim -%}
    {%- if shown -%}<{{ name }}>{{ shown }}</{{ name }}>{%- else -%}<{{ name }}/>{%- endif -%}
{%- endmacro -%}
{%- macro without_thoughts(text) -%}
    {%- set ns = namespace(result='') -%}
    {%- for part in text.split('</think>') -%}
        {%- if '<think>' in part -%}{%- set ns.result = ns.result + part.split('<think>')[0] -%}
        {%- else -%}{%- set ns.result = ns.result + part -%}{%- endif -%}
    {%- endfor -%}
    {{- ns.result | trim -}}
{%- endmacro -%}
{%- set state = namespace(first=none, names=[]) -%}
{%- for message in messages -%}
    {%- if message.role not in ['user', 'assistant', 'system'] -%}{%- continue -%}{%- endif -%}
    {%- if loop.previtem is defined and loop.previtem.role == message.role %}+{% endif -%}
    {%- set body -%}{{ show(without_thoughts(message.content), message.role | upper) }}{%- endset -%}
    {%- if state.first is none -%}{%- set state.first = message.content -%}{%- endif -%}
    {%- if message.role == 'assistant' -%}{% generation %}{{ body }}{% endgeneration %}
    {%- else -%}{{ body }}{%- endif -%}
    {%- if loop.nextitem and loop.nextitem.role == 'system' -%}{%- break -%}{%- endif -%}
{%- else -%}
    nobody
{%- endfor -%}
{{ (state.first or 'nothing') | length }}{{ state.first is none }}
"""
FILTERS = """\
{%- set users = messages | selectattr('role', 'equalto', 'user') | list -%}
{{ users | length }}:{{ users | map(attribute='content') | join('|') }}:{{ (messages | last).role }}
{%- for message in messages if message.role != 'system' -%}
    {{ loop.index }}{{ loop.cycle('a', 'b') }}{{ message.content | replace('e', '<é>') | title | tojson }}{{ message['content'][1:-1] }}
    {{- message.get('name', message.role | capitalize) }}{{ message.content.split() | join('_') }}{{ message.content[:1] | lower }}
{%- endfor -%}
{%- for number in range(messages | length, -1, -1) -%}
    {{ number }}{{ {'user': 'U', 'assistant': 'A'}[messages[number].role] if number < messages | length else '?' }},
{%- endfor -%}
{%- for tag in ['x', 'y'] -%}{{ tag }}{{ loop.last }}{{ (tag ~ messages[0].role) in messages[0].content }}{%- endfor -%}
{{ 'system' in messages | map(attribute='role') | list }}{{ 1 < messages | length <= 3 }}{{ -(messages | length) // 2 }}
"""  # noqa: E501
TEMPLATES = {
    "chatml": CHATML, "thinking": THINKING, "headers": HEADERS, "alternating": ALTERNATING, "macros": MACROS,
    "filters": FILTERS.replace("(tag ~ messages[0].role) in", "tag in"),
}  # fmt: skip
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True, "tools": None}

SPACES = [" ", "\n", "\t", "\u00a0", "\u2003", "\ufeff", "\u0085", "\x1c", "\u200b", "\r\n", "\x00", "\u3000"]
WORDS = [
    "Hello", "the end", "é", "日本", "😀👍🏽", "<think>plan</think>answer", "<think>", "</think>", "</think>\n\nok",
    "<|end|>", "<eot>", "</s>", "<reply>x</reply>", "</reply>", "\n\n", "\\n", "{{ x }}", "%s", '"q"', "ΑΣ", "ß",
    "user", "\\1",
]  # fmt: skip
ROLES = ["user", "assistant", "system", "tool", "ipython", "User", " user", "критик"]


def text(drawn: random.Random) -> str:
    """A content: words, spaces at either end, at times very long."""
    words = [drawn.choice(WORDS if drawn.random() < 0.7 else SPACES) for _ in range(drawn.choice([0, 1, 1, 2, 4]))]
    before, after = ("".join(drawn.choices(SPACES, k=drawn.choice([0, 0, 1, 3]))) for _ in range(2))
    return (before + "".join(words) + after) * (drawn.randint(100, 2000) if drawn.random() < 0.01 else 1)


def conversation(drawn: random.Random) -> list[dict[str, str]]:
    """At most seven turns: most of them alternate, after a system text or none."""
    turns = drawn.randint(0, 7)
    if drawn.random() < 0.6:
        roles = [*["system"] * drawn.randint(0, 1), *["user", "assistant"] * 4][:turns]
    else:
        roles = [drawn.choice(ROLES[:3] if drawn.random() < 0.8 else ROLES) for _ in range(turns)]
    return [{"role": role, "content": text(drawn)} for role in roles]


def conversations(count: int, seed: int = 0) -> list[list[dict[str, str]]]:
    drawn = random.Random(seed)
    return [conversation(drawn) for _ in range(count)]


def padded(rows: list[list[dict[str, str]]], field: str) -> list[list[str]]:
    """The roles or contents of conversations, padded by empty ones."""
    turns = max([len(row) for row in rows], default=0)
    return [[message[field] for message in row] + [""] * (turns - len(row)) for row in rows]
