import pytest

from kbeval_jupyter.model.request import Source
from kbeval_jupyter.problems.names import SourceSyntaxError, file_bytes, file_text, parse


def names(text: str) -> set[str]:
    return set(parse(Source(text, "cell")).definitions)


@pytest.mark.parametrize(
    "text",
    [
        "class ModelNew: pass",
        "def ModelNew(): pass",
        "async def ModelNew(): pass",
        "ModelNew = Fast",
        "ModelNew: type = Fast",
        "a, (ModelNew, *b) = things",
        "a = ModelNew = Fast",
        "import ModelNew",
        "import ModelNew.inner",
        "import fast as ModelNew",
        "from mine import ModelNew",
        "from mine import Fast as ModelNew",
        "if x:\n    ModelNew = 1\nelse:\n    other = 2",
        "if x:\n    other = 1\nelif y:\n    class ModelNew: pass",
        "try:\n    from fast import ModelNew\nexcept ImportError:\n    pass",
        "try:\n    import fast\nexcept ImportError:\n    class ModelNew: pass",
        "try:\n    pass\nfinally:\n    ModelNew = 1",
        "with torch.no_grad():\n    ModelNew = build()",
        "with open('x') as ModelNew:\n    pass",
        "for ModelNew in makers:\n    pass",
        "while True:\n    ModelNew = 1\n    break",
        "match x:\n    case 1:\n        ModelNew = 1",
        "if __name__ == '__main__':\n    pass\nelse:\n    ModelNew = 1",
    ],
)
def test_definitions_that_count(text: str) -> None:
    assert "ModelNew" in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "def build():\n    class ModelNew: pass",
        "class Outer:\n    class ModelNew: pass",
        "class Outer:\n    def ModelNew(self): pass",
        "lambda: [ModelNew for ModelNew in x]",
        "ModelNew: type",
        "ModelNew",
        "module.ModelNew = 1",
        "table['ModelNew'] = 1",
        "ModelNew += 1",
        "'class ModelNew: pass'",
        "import package.ModelNew",
        "if __name__ == '__main__':\n    ModelNew = 1",
        "if TYPE_CHECKING:\n    from fast import ModelNew",
    ],
)
def test_definitions_that_do_not_count(text: str) -> None:
    assert "ModelNew" not in names(text)


@pytest.mark.parametrize(
    ("text", "open_ended"), [("from mine import *", True), ("globals()['M'] = 1", True), ("import mine", False)]
)
def test_modules_whose_names_cannot_be_known(text: str, open_ended: bool) -> None:
    assert parse(Source(text, "cell")).may_define("ModelNew") is open_ended


def test_syntax_error_has_the_line_that_the_user_sees() -> None:
    cell = Source("import torch\n<custom_kernel_name_1>\n", "the cell", first_line=2)
    with pytest.raises(SourceSyntaxError) as caught:
        parse(cell)
    assert str(caught.value) == "syntax error in the cell, line 3: invalid syntax: <custom_kernel_name_1>"


@pytest.mark.parametrize("text", ["x = '\0'", "(" * 5000 + ")" * 5000])
def test_what_the_parser_refuses_is_one_line_too(text: str) -> None:
    with pytest.raises(SourceSyntaxError) as caught:
        parse(Source(text, "cell"))
    assert "\n" not in str(caught.value)


def test_invalid_escapes_are_no_error_of_ours() -> None:
    assert "pattern" in names(r"pattern = '\d+'")


def test_the_file_has_the_lines_of_the_cell() -> None:
    text = file_text(Source("first\nsecond", "cell", first_line=2))
    assert text.splitlines()[1:] == ["first", "second"]
    assert text.splitlines()[0].startswith("#")
    assert file_text(Source("only", "file")) == "only"


def test_a_coding_line_is_obeyed() -> None:
    assert file_bytes(Source("# coding: latin-1\nx = 'é'", "file")) == "# coding: latin-1\nx = 'é'".encode("latin-1")
    assert file_bytes(Source("x = '≈'", "file")) == "x = '≈'".encode()
    assert file_bytes(Source("# coding: ascii\nx = '≈'", "file")).startswith(b"# coding")
