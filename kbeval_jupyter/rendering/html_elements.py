"""Small pieces of html that survive a notebook's sanitiser: inline styles only, colours that read on light and on dark.

JupyterLab cleans the html of an untrusted notebook: no ``id``, no ``currentColor``, no ``calc``. So text inherits its colour,
lines and tracks are translucent grey, and only badges and bars have a colour of their own.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LINE = "rgba(127,127,127,0.35)"
TRACK = "rgba(127,127,127,0.18)"
MONO = "font-family:ui-monospace,Menlo,Consolas,monospace"
_QUIET = "opacity:0.75"


def text(value: str, limit: int = 2000) -> str:
    """Escaped text, cut at ``limit`` characters."""
    return escape(value if len(value) <= limit else value[: limit - 1] + "…", quote=True)


def div(content: str, style: str = "") -> str:
    """A block; ``content`` is html."""
    return f'<div style="{style}">{content}</div>' if style else f"<div>{content}</div>"


def span(content: str, style: str) -> str:
    """A piece of a line; ``content`` is html."""
    return f'<span style="{style}">{content}</span>'


def quiet(content: str, style: str = "") -> str:
    """What is read second."""
    return span(content, f"{_QUIET};{style}" if style else _QUIET)


def badge(words: str, colour: str) -> str:
    """White words on a colour."""
    style = (
        f"background-color:{colour};color:#ffffff;font-weight:700;font-size:11px;letter-spacing:0.6px;"
        "padding:2px 8px;border-radius:3px;white-space:nowrap"
    )
    return span(text(words), style)


def heading(words: str) -> str:
    """The title of a block."""
    return div(
        text(words), f"{_QUIET};font-size:11px;font-weight:700;letter-spacing:0.5px;text-transform:uppercase;margin-top:12px"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], style: str = "") -> str:
    """A table whose cells are html; the first column is left-aligned, the others right; scrolls sideways where it is narrow."""
    cells = [_row("th", head, "font-weight:600"), *(_row("td", row, style) for row in rows)]
    look = "border-collapse:collapse;table-layout:auto;margin:4px 0 0 0;border:none;font-size:12px"
    return div(f'<table style="{look}">{"".join(cells)}</table>', "overflow-x:auto")


def _row(tag: str, cells: Sequence[str], style: str) -> str:
    edge = f"border:none;border-bottom:1px solid {LINE};padding:2px 16px 2px 0;vertical-align:baseline;white-space:nowrap;{style}"
    aligned = (f'<{tag} style="text-align:{"right" if i else "left"};{edge}">{cell}</{tag}>' for i, cell in enumerate(cells))
    return f'<tr style="background-color:transparent">{"".join(aligned)}</tr>'


def bar(until_percent: float, faint_until_percent: float, colour: str, height_px: int = 10) -> str:
    """A bar on a track: solid up to the first share, faint up to the second."""
    faint = max(0.0, faint_until_percent - until_percent)
    parts = (
        div("", f"width:{until_percent:.2f}%;height:{height_px}px;background-color:{colour}")
        + div("", f"width:{faint:.2f}%;height:{height_px}px;background-color:{colour};opacity:0.4")
    )  # fmt: skip
    return div(parts, f"display:flex;width:100%;background-color:{TRACK};border-radius:2px;overflow:hidden")


def details(summary: str, content: str, *, opened: bool = False) -> str:
    """A part that unfolds; ``content`` is html."""
    attribute = " open" if opened else ""
    return f'<details{attribute} style="margin-top:6px"><summary style="cursor:pointer">{summary}</summary>{content}</details>'


def preformatted(lines: Iterable[str], line_limit: int = 400) -> str:
    """Lines of a log or a traceback; long lines wrap."""
    style = (
        f"{MONO};font-size:12px;line-height:1.4;white-space:pre-wrap;overflow-wrap:break-word;"
        f"max-height:340px;overflow-y:auto;margin:4px 0 0 0;padding:6px 8px;border:none;border-left:2px solid {LINE}"
    )
    return f'<pre style="{style}">{chr(10).join(text(line, line_limit) for line in lines)}</pre>'
