"""The directions of docs/architecture.md, and what must hold for the files that travel."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "kbeval_jupyter"
FILES = sorted(PACKAGE.rglob("*.py"))
RUNNER = [path for path in FILES if path.relative_to(PACKAGE).parts[0] == "runner"]
LINES_LIMIT = 400

# part -> the parts it may import. What is not listed sits on top and may import everything but the other tops.
FOUNDATIONS = {"errors"}
MODEL = FOUNDATIONS | {"runner", "model"}
MAY_IMPORT = {
    "errors": set(),
    "runner": {"runner"},
    "model": MODEL,
    "problems": MODEL | {"problems"},
    "static_check": MODEL | {"static_check"},
    "planning": MODEL | {"problems"},
    "sources": MODEL,
    "options": MODEL | {"problems", "planning", "sources", "static_check"},
    "transports": MODEL | {"transports"},
    "execution": MODEL | {"transports", "execution"},
    "targets": MODEL | {"transports", "execution", "targets"},
    "background": FOUNDATIONS,
    "rendering": MODEL | {"rendering"},
    "running": MODEL | {"problems", "planning", "transports", "execution", "targets", "background", "artifacts", "running"},
    "api": MODEL | {"problems", "planning", "sources", "options", "targets", "running", "artifacts", "static_check"},
    "widgets": MODEL | {"rendering", "running", "widgets"},
}
# Of the runner, everything but these two modules is for the target alone.
RUNNER_SHARED = {"kbeval_jupyter.runner.wire", "kbeval_jupyter.runner.report"}
ALLOWED_IN_RUNNER = sys.stdlib_module_names | {"torch"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Absolute names of everything that a file imports, ``from x import y`` as both x and x.y."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name, node
            if is_package(name):
                yield from ((f"{name}.{alias.name}", node) for alias in node.names)


def is_package(name: str) -> bool:
    return name.startswith("kbeval_jupyter") and (PACKAGE.parent / name.replace(".", "/")).is_dir()


def part(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    mine = part(module_name(path))
    if mine not in MAY_IMPORT:
        return
    theirs = {part(name) for name, _ in imports(path) if name.startswith("kbeval_jupyter.")}
    assert theirs - MAY_IMPORT[mine] - {mine} == set()


@pytest.mark.parametrize("path", [p for p in FILES if p not in RUNNER], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_of_the_runner_only_wire_and_report_are_shared(path: Path) -> None:
    used = {name for name, _ in imports(path) if name.startswith("kbeval_jupyter.runner.")}
    assert {name for name in used if not any(name == s or name.startswith(s + ".") for s in RUNNER_SHARED)} == set()


@pytest.mark.parametrize("path", RUNNER, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_runner_needs_python_3_9_and_torch_only(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))
    for name, node in imports(path):
        if name.startswith("kbeval_jupyter"):
            assert isinstance(node, ast.ImportFrom), f"line {node.lineno}: the archive has another name"
            assert node.level > 0, f"line {node.lineno}: the archive has another name"
        else:
            assert name.partition(".")[0] in ALLOWED_IN_RUNNER | {"__future__"}, f"line {node.lineno} imports {name}"


@pytest.mark.parametrize("path", [p for p in FILES if p not in RUNNER], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_torch_is_imported_in_functions_only(path: Path) -> None:
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.partition(".")[0] == "torch" for name in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_are_short_and_named_for_what_they_hold(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES_LIMIT
    assert path.stem not in {"utils", "helpers", "common", "misc"}


def test_importing_is_quick_and_brings_no_torch() -> None:
    code = """
import json, sys, time
begin = time.process_time()  # other tests may be using the machine
import kbeval_jupyter
bare_s = time.process_time() - begin
from kbeval_jupyter import EvaluationResult, aevaluate, astream, evaluate
print(json.dumps({"bare_s": bare_s, "all_s": time.process_time() - begin, "modules": sorted(sys.modules)}))
"""
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    assert min(run["bare_s"] for run in runs) < 0.05
    assert min(run["all_s"] for run in runs) < 0.3
    assert not {"torch", "numpy", "plotly", "ipywidgets", "IPython"} & set(runs[0]["modules"])


def test_the_extension_loads_without_torch() -> None:
    code = (
        "import sys; from IPython.testing.globalipapp import start_ipython; shell = start_ipython();"
        "shell.run_line_magic('load_ext', 'kbeval_jupyter'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False", done.stderr
