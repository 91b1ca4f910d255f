"""Chat templates and conversations."""

from __future__ import annotations

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
MARKED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<a>{% generation %}{{ m.content | trim }}</a>"
    "{% endgeneration %}{% else %}<u>{{ m.content }}</u>{% endif %}{% endfor %}"
)
TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello\n there "},
    {"role": "assistant", "content": " Hi. "},
]


def user(content: str = "Hello") -> list[dict]:
    return [{"role": "user", "content": content}]
