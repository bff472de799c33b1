"""``kbeval compare``: several implementations timed together, the matrix as text and JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import api, sources
from .cli import EXIT_CANCELLED, EXIT_FAILED, EXIT_OK
from .cli_run import STANDARD_OUTPUT, file_options
from .comparing import comparison_request, side
from .errors import RequestError
from .model.comparison import ComparisonResult, from_evaluation
from .options import OptionParser, add_evaluation_options
from .rendering import comparison


def compare(words: list[str]) -> int:
    """Compare as the words say; the exit status: 0 all are right and were timed, 1 anything else."""
    parser = OptionParser(prog="kbeval compare", description="Time several implementations together in one interleaved run.")
    parser.add_argument("implementations", nargs="+", metavar="FILE", help="or notebook.ipynb#LABEL, or torch.compile")
    parser.add_argument("--reference", "--ref", required=True, metavar="FILE", help="what is right")
    add_evaluation_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the comparison as JSON; - for standard output")
    given = parser.parse(words)
    sides = [side("", Path(name)) for name in given.implementations]
    request = comparison_request(sides, sources.from_path(given.reference), file_options(given))
    try:
        result = from_evaluation(api.wait(api.start(request)))
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    if given.json != STANDARD_OUTPUT:
        sys.stdout.write(comparison.text(result) + "\n")
    _write(result, given.json)
    complete = bool(result.sides) and all(side.right for side in result.sides) and all(pair.speedup for pair in result.pairs)
    return EXIT_OK if complete else EXIT_FAILED


def _write(result: ComparisonResult, name: str | None) -> None:
    if name is None:
        return
    data = json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
    if name == STANDARD_OUTPUT:
        sys.stdout.write(data)
        return
    try:
        Path(name).write_text(data, encoding="utf-8")
    except OSError as error:
        raise RequestError(f"--json {name}: {error.strerror}") from error
