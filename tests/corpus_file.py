"""Collections of small implementations in one text file: a head line for each, then its code.

    --- name [problem] -> verdict: check | check (exploit numbers)

What stands in parentheses and after the verdict may be left out; checks are those of the defense stage of which one must fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HEAD = re.compile(
    r"^--- (?P<name>\w+) \[(?P<problem>\w+)\](?: -> (?P<verdict>\w+)(?:: (?P<checks>[\w| ]+?))?)?(?: \((?P<about>.*)\))?$"
)
PRELUDE = "import torch\nfrom torch import nn\n"


@dataclass(frozen=True)
class Specimen:
    name: str
    problem: str
    code: str
    verdict: str = "passed"
    checks: frozenset[str] = frozenset()


def read(path: Path) -> list[Specimen]:
    found = []
    for part in path.read_text().split("\n--- ")[1:]:
        head, code = part.split("\n", 1)
        match = HEAD.match("--- " + head)
        assert match is not None, head
        checks = frozenset(name.strip() for name in (match["checks"] or "").split("|") if name.strip())
        found.append(Specimen(match["name"], match["problem"], PRELUDE + code, match["verdict"] or "passed", checks))
    return found
