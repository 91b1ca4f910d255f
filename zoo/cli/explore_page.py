"""The page of `explore`: a form with the fields of `View`, on this machine only, which shows the one HTML file."""

from __future__ import annotations

import html
import os
import socket
from typing import Any

from keras_transformers.analysis.explorer.page_request import MOST_CHARACTERS, MOST_NEW_TOKENS
from keras_transformers.analysis.explorer.run import read
from keras_transformers.analysis.explorer.view import View

HOST = "127.0.0.1"
# Before Gradio is imported: no reports of use, no question whether there is a newer version.
OFFLINE = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
POLICY = (
    "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; connect-src 'self'; frame-ancestors 'self'; form-action 'self'"
)
FRAME = '<iframe title="Inside the model" srcdoc="{}" style="width: 100%; height: 60rem; border: 0"></iframe>'
STYLE = """
button:focus-visible, iframe:focus-visible { outline: 3px solid #b3004b; }
.gradio-container { padding: 0.5rem !important; }
"""
ALERT = '<p role="alert" style="color: #9a2b00; background: #ffffff; border: 2px solid; padding: 0.75rem">{}</p>'


def serve(task: Any, name: str, view: View, port: int | None = None, wait: bool = True) -> str:
    """Serve the page on this machine, and to no other, until Ctrl-C.

    Args:
        task: The task to explore.
        name: The model's name.
        view: The view to show first.
        port: A free one from 7860 if None.
        wait: Whether to wait for Ctrl-C.

    Returns:
        The address.

    Raises:
        ValueError: Gradio is not installed, or the port is taken.
    """
    if port is not None:
        check_port(port)
    blocks, theme = build(task, name, view)
    for variable in ("NO_PROXY", "no_proxy"):  # of the two, the small letters count where both are there
        os.environ[variable] = ",".join(filter(None, (os.environ.get(variable), HOST, "localhost")))
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    # Against DNS rebinding: a page from elsewhere that reaches this server by a host name of its own.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    _, address, _ = blocks.launch(
        server_name=HOST, server_port=port, share=False, quiet=True, prevent_thread_lock=True, ssr_mode=False,
        mcp_server=False, pwa=False, enable_monitoring=False, footer_links=[], max_file_size=1, theme=theme, css=STYLE,
        app_kwargs={"middleware": [hosts, Middleware(OnlyHere)]},
    )  # fmt: skip
    print(f"{name}: {address} (Ctrl-C ends it)", flush=True)
    if wait:
        blocks.block_thread()
    return address


def check_port(port: int) -> None:
    """Raise a `ValueError` if a port is taken or not allowed, before seconds are spent on the page."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just closed may be taken again
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise ValueError(
                f"port {port} is not available ({error.strerror}): give another --port, or leave it out."
            ) from error


class OnlyHere:
    """Middleware that tells browsers to load nothing from other servers, whatever the page of Gradio asks for.

    Args:
        app: The ASGI application.
    """

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_policy(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY.encode())]
            await send(message)

        await self.app(scope, receive, send_with_policy if scope["type"] == "http" else send)


def build(task: Any, name: str, view: View) -> tuple[Any, Any]:
    """Return the form and its theme."""
    gradio = _gradio()
    continues = task.kind.writes_text and task.config.kind == "decoder"
    with gradio.Blocks(title=f"zoo explore {name}", analytics_enabled=False) as blocks:
        gradio.Markdown(f"# zoo explore {html.escape(name)}\n{task.name}; nothing that you write leaves this machine.")
        fields = _fields(gradio, task, view)
        with gradio.Row():
            show = gradio.Button("Show", variant="primary", elem_id="show")
            copy = gradio.Button("Copy the text to change it", elem_id="copy")
            one = gradio.Button("Write one token", visible=continues, elem_id="one")
        shown = gradio.HTML(frame(task, name, view), elem_id="shown")

        text, changed = fields["text"], fields["changed"]
        once = {"concurrency_limit": 1, "concurrency_id": "model", "api_visibility": "private"}

        def view_of(values: tuple) -> View:
            given = {name: value for name, value in zip(fields, values, strict=True) if value is not None}
            return View(**{"text": "", **given})  # an emptied field of a number gives None

        def show_frame(*values: Any) -> str:
            return frame(task, name, view_of(values))

        def write_one(*values: Any) -> tuple[str, str]:
            return longer(task, name, view_of(values))

        inputs = list(fields.values())
        gradio.on([show.click, text.submit, changed.submit], show_frame, inputs, shown, **once)
        one.click(write_one, inputs, [text, shown], **once)
        copy.click(lambda value: value, text, changed, api_visibility="private")
    return blocks, _theme(gradio)


def _fields(gradio: Any, task: Any, view: View) -> dict[str, Any]:
    """Return the fields of the form, by the names of the fields of `View`."""
    long = {"max_length": MOST_CHARACTERS}
    text = gradio.Textbox(view.text, label="Text", lines=2, elem_id="text", **long)
    changed = gradio.Textbox(view.changed, label="Changed text, to compare (may stay empty)", elem_id="changed", **long)
    with gradio.Row():
        pair = gradio.Textbox(view.pair, label="Second text", visible=task.kind.takes_pairs, elem_id="pair", **long)
        without = gradio.Textbox(
            view.without, label="Heads to switch off, such as 0.1 2.3", max_length=1000, elem_id="off"
        )
        first = gradio.Number(view.first_token, label="First token of the maps", precision=0, minimum=0)
    among = gradio.Textbox(
        view.among, label="Texts to search in, one per line", lines=4, visible="embed" in task.parts.attributes,
        elem_id="among", **long,
    )  # fmt: skip
    with gradio.Row(visible=task.kind.writes_text):
        new_tokens = gradio.Slider(0, MOST_NEW_TOKENS, view.new_tokens, step=1, label="New tokens", elem_id="new")
        temperature = gradio.Slider(0, 2, view.temperature, step=0.1, label="Temperature (0: the likeliest token)")
        seed = gradio.Number(view.seed, label="Seed", precision=0, minimum=0)
    return {
        "text": text, "changed": changed, "pair": pair, "without": without, "new_tokens": new_tokens,
        "temperature": temperature, "seed": seed, "first_token": first, "among": among,
    }  # fmt: skip


def frame(task: Any, name: str, view: View) -> str:
    """Return the document in a frame, or the error in what the user asked for."""
    try:
        return FRAME.format(html.escape(view.page(task, name)))
    except ValueError as error:
        return ALERT.format(html.escape(str(error)))


def longer(task: Any, name: str, view: View) -> tuple[str, str]:
    """Return the text with one more token, and its document."""
    try:
        text = read(task, view._replace(new_tokens=1).request(task)).text
    except ValueError as error:
        return view.text, ALERT.format(html.escape(str(error)))
    return text, frame(task, name, view._replace(text=text, new_tokens=0))


def _gradio() -> Any:
    os.environ.update(OFFLINE)
    try:
        import gradio
    except ImportError as error:
        raise ValueError(
            "the page needs Gradio: pip install 'keras_transformers[explore]'; a file, written with --html, needs "
            "nothing more."
        ) from error
    return gradio


def _theme(gradio: Any) -> Any:
    """Return a theme with the machine's fonts, since none can be loaded, and with contrasts of at least 4.5."""
    return gradio.themes.Base(
        primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    ).set(
        button_primary_background_fill="#0b4f94", button_primary_background_fill_hover="#083a6e",
        button_primary_text_color="#ffffff",
        button_secondary_background_fill="#ffffff", button_secondary_border_color="#767d88", button_border_width="1px",
        input_border_color="#767d88", input_border_width="1px", input_background_fill="#ffffff",
        block_label_text_color="#16181d", block_info_text_color="#474d57", body_text_color="#16181d",
        body_text_color_subdued="#474d57",
        block_title_text_color="#16181d", input_border_color_focus="#b3004b", input_shadow_focus="0 0 0 2px #b3004b",
    )  # fmt: skip
