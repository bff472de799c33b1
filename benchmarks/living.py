"""A living process: its first evaluation finds no server, the later ones do. Prints the seconds of each as a JSON list."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from kbeval_jupyter import evaluate


def main(folder: Path, count: int) -> None:
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        result = evaluate(folder / "implementation.py", folder / "reference.py", stages="compile,correctness")
        seconds.append(time.perf_counter() - start)
        if result.verdict != "passed":
            sys.exit(f"{result.verdict}: {result.reason}")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
