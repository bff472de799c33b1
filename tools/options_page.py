"""Writes docs/options.md from the one table of options: ``python -m tools.options_page``; ``make contract`` does it too."""

from __future__ import annotations

from pathlib import Path

from kbeval_jupyter.options import OPTIONS, Option

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """# Options

The same words in `%%kernelbench`, `kbeval run` and Python, where a dash becomes an underscore: `evaluate(…, build_timeout=60)`.
In a notebook `--ref NAME` names the reference (it may be left out where only one is saved), `-o NAME` binds the result to a
variable and `-q` shows less; for files there are `--impl FILE` and `--ref FILE`, on the command line `--impl` and `--reference`.

| option | means |
|---|---|
"""


def row(option: Option) -> str:
    """One line of the table."""
    value = "" if option.is_flag else f" {option.metavar or '|'.join(option.choices)}"
    name = f"`--{option.name}{value}`" if option.shell else f"`{option.keyword}` (Python only)"
    return f"| {name.replace('|', chr(92) + '|')} | {option.help} |\n"


def page() -> str:
    """The whole page."""
    return HEAD + "".join(row(option) for option in OPTIONS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
