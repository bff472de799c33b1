"""What everything is compared with: a script as one writes it by hand, which loads both files and checks three trials."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from types import ModuleType

TRIALS = 3


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(folder: Path) -> None:
    reference, implementation = load(folder / "reference.py"), load(folder / "implementation.py")
    model, model_new = reference.Model(*reference.get_init_inputs()), implementation.ModelNew()
    with torch.no_grad():
        for trial in range(TRIALS):
            torch.manual_seed(42 + trial)
            inputs = reference.get_inputs()
            copies = [tensor.clone() for tensor in inputs]
            assert torch.allclose(model(*inputs), model_new(*copies), rtol=1e-4, atol=1e-4)
    print("passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
