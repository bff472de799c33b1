"""The runner as a program, from its folder instead of its archive: python runner_program.py link | serve …"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kbeval_jupyter.runner.main import main

if __name__ == "__main__":
    sys.exit(main())
