"""What ``%%kernelbench?`` shows."""

from __future__ import annotations

from kbeval_jupyter.notebook import argument_line
from kbeval_jupyter.notebook.commands import NAMES

_HEAD = """Evaluate an implementation of a problem: is it right, where is it wrong, is it really faster.

    %%kernelref softmax                          save a cell as the reference (class Model, get_inputs, ...)
    %%kernelbench                                evaluate the cell (class ModelNew) against the only saved reference
    %%kernelbench --ref softmax --benchmark      measure too, once it is right
    %%kernelbench --ref softmax --name v2 -o r   give it a label and bind the result to r
    %kernelbench --impl k.py --ref r.py          the same for files; a line, so one percent sign
    %kernelbench --impl old.ipynb#v1             a cell of a saved notebook

The result is an EvaluationResult: .verdict .reason .passed .speedup .correctness .benchmark .artifacts_dir .to_json().
{name} and $name in the line are replaced by Python variables. The interrupt button and Cancel stop the evaluation.
"""
_COMMANDS = {
    "targets": "where evaluations can run",
    "problems": "references, test cases and inputs that this notebook saved",
    "history": "the evaluations of this session",
    "show": "ID|LABEL: show a result again",
    "cancel": "[ID|LABEL]: stop one, or all that run",
    "replay": "ID|LABEL [case] [trial]: run a failed trial again; the value has .inputs .expected .actual .errors()",
    "compare": "LABEL|FILE … [--ref NAME] [--budget S]: time several together, and say who is faster than whom",
}


def help_text() -> str:
    """Examples, options from the one table, commands."""
    commands = "\n".join(f"    %kernelbench {name:<10}{_COMMANDS[name]}" for name in NAMES)
    _usage, _, options = argument_line.make_parser().format_help().partition("options:")
    return f"{_HEAD}\nCommands:\n{commands}\n\nOptions:{options}"
