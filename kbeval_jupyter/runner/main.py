"""The program that the archive is: ``link`` for a client's connection, ``serve`` for the warm server that a link starts."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # not from typing, which takes the link longer to import than all of ours
if TYPE_CHECKING:
    from typing import Callable

    from .supervision.offspring import Parts

_USAGE = "usage: kbeval-runner link | serve SOCKET READY_FD"


def main(load_parts: Callable[[], Parts] | None = None) -> int:
    """Run the sub-command of ``sys.argv``. ``load_parts`` imports the programs of an evaluation; tests put others in."""
    arguments = sys.argv[1:]
    if arguments == ["link"]:
        from .supervision.link import Link

        Link().run()
        return 0
    if len(arguments) == 3 and arguments[0] == "serve":
        from .supervision.server import serve

        serve(arguments[1], int(arguments[2]), load_parts or _load_parts)
        return 0
    print(_USAGE, file=sys.stderr)
    return 2


def _load_parts() -> Parts:
    from . import isolation, judge
    from .supervision.offspring import Parts
    from .working import worker

    isolation.prepare()
    return Parts(judge.run, worker.serve)
