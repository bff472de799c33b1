from pathlib import Path

import nbformat.v4
import pytest

from kbeval_jupyter import sources
from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.request import Source, portable


def notebook(path: Path, *cells: str) -> Path:
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    node.cells.append(nbformat.v4.new_markdown_cell("%%kernelref text"))
    path.write_text(nbformat.writes(node))
    return path


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "fast.py"
    path.write_text("x = '≈'")
    assert sources.from_path(path) == Source("x = '≈'", "fast.py", directory=tmp_path, path=path)
    assert sources.from_value(path, "implementation") == sources.from_path(str(path))


def test_text_and_cell_look_for_files_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sources.from_value("x = 1\n", "implementation") == Source("x = 1\n", "implementation", directory=tmp_path)
    assert sources.from_cell("x = 1", "the cell") == Source("x = 1", "the cell", first_line=2, directory=tmp_path)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1", "x = 1"),
        ("# coding: latin-1\nx = 'é'".encode("latin-1"), "# coding: latin-1\nx = 'é'"),
        (b"a\r\nb", "a\r\nb"),
        (b"", ""),
    ],
)
def test_encodings_that_python_reads(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(data)
    assert sources.from_path(tmp_path / "x.py").text == text


def test_bytes_that_are_not_utf_8_are_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(b"a = 1\nb = '\xe9'\n")
    with pytest.raises(RequestError, match=r"x\.py, line 2: byte 0xe9 at column 6 is not UTF-8$"):
        sources.from_path(tmp_path / "x.py")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Path("nope.py"), r"cannot read nope\.py: No such file or directory"),
        (Path("/"), "cannot read /"),
        ("fast.py", r"the text 'fast\.py', which looks like a file name"),
        (3, "must be a Path .* or a str .*, got int"),
    ],
)
def test_what_is_no_source(value: object, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sources.from_value(value, "implementation")  # type: ignore[arg-type]


def test_cells_of_a_notebook_by_label(tmp_path: Path) -> None:
    path = notebook(
        tmp_path / "course.ipynb",
        "%load_ext kbeval_jupyter",
        "%%kernelref softmax\nreference",
        "%%kernelbench --ref softmax --name v1\nfirst",
        "%%kernelbench --name='v two' --benchmark\nsecond",
        "%%kernelbench --name v1\nfirst again",
        "%%kernelbench --ref softmax\nno label",
        "%%kernelbench\nno label either",
        "%%kernelcases softmax-cases\n[]",
    )
    texts = {label: source.text for label, source in sources.notebook_cells(path).items()}
    assert texts == {"softmax": "reference", "v1": "first again", "v two": "second", "softmax-cases": "[]"}
    source = sources.from_path(f"{path}#v two")
    assert source == Source("second", "course.ipynb#v two", first_line=2, directory=tmp_path)
    assert sources.from_path(Path(f"{path}#v1")).text == "first again"


def test_cells_that_do_not_begin_with_the_magic(tmp_path: Path) -> None:
    path = notebook(
        tmp_path / "n.ipynb",
        "\n  \n%%kernelref r\nreference",
        "%%time\n%%capture out\n%%kernelbench --name v1\nfirst",
        "# no magic after this\n%%kernelref comment\nx",
        "%%bash\n%%kernelref text\nx",
    )
    found = sources.notebook_cells(path)
    assert {label: (source.text, source.first_line) for label, source in found.items()} == {
        "r": ("reference", 4),
        "v1": ("first", 4),
    }


def test_names_that_utf_8_cannot_carry() -> None:
    assert portable("größe") == "größe"
    assert portable(b"gr\xc3\xb6".decode("ascii", "surrogateescape")) == "grö"
    assert portable("a\udcffb") == "a\ufffdb"
    assert "\ud83d" not in portable("\ud83d!")


def test_wrong_labels_and_notebooks(tmp_path: Path) -> None:
    path = notebook(tmp_path / "n.ipynb", "%%kernelref softmax\nx")
    with pytest.raises(RequestError, match="unknown cell ''"):
        sources.from_path(f"{path}#")
    with pytest.raises(RequestError, match="it is empty"):
        sources.from_path("")
    with pytest.raises(RequestError, match=r"unknown cell 'sofmax' \(did you mean 'softmax'\?\); valid: softmax"):
        sources.from_path(f"{path}#sofmax")
    with pytest.raises(RequestError, match="is a notebook") as caught:
        sources.from_path(path)
    assert "n.ipynb#LABEL" in caught.value.hint
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(RequestError, match="is not a notebook"):
        sources.from_path(f"{tmp_path}/broken.ipynb#x")
