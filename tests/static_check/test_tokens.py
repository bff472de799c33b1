"""C++ tokens: what is code, what is not, and in which line."""

import pytest

from kbeval_jupyter.static_check.cpp_definitions import definitions
from kbeval_jupyter.static_check.text import Place, Text, joined
from kbeval_jupyter.static_check.tokens import Unit, read


def unit(source: str) -> Unit:
    return read(Text.of_file("k.cu", source))


def words(source: str) -> list[str]:
    return [token.text for token in unit(source).tokens]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a // b\nc", ["a", "c"]),
        ("a // b \\\nc\nd", ["a", "d"]),
        ("a /* b\n * c */ d", ["a", "d"]),
        ("a /* never closed", ["a"]),
        ('a "// no" b', ["a", "// no", "b"]),
        ('a "\\"" b', ["a", '\\"', "b"]),
        ("a '\"' b", ["a", "'\"'", "b"]),
        ("a '\\'' b", ["a", "'\\''", "b"]),
        ('R"(a " // b)" c', ['a " // b', "c"]),
        ('R"x(a )" b)x" c', ['a )" b', "c"]),
        ('u8R"(a)" L"b"', ["a", "b"]),
        ("1'000'000 'a'", ["1'000'000", "'a'"]),
        ("0x1.8p+3f .5e-2 1.f", ["0x1.8p+3f", ".5e-2", "1.f"]),
        ("k<<<1, 2>>>()", ["k", "<<<", "1", ",", "2", ">", ">", ">", "(", ")"]),
        ("a<b<c>> d", ["a", "<", "b", "<", "c", ">", ">", "d"]),
        ("a->b::c", ["a", "->", "b", "::", "c"]),
        ("na\\\nme", ["name"]),
        ("#if 0\na\n#else\nb\n#endif\nc", ["b", "c"]),
        ("#if 1\na\n#else\nb\n#endif\nc", ["a", "c"]),
        ("#if 0\n#if X\na\n#endif\nb\n#elif Y\nc\n#endif", ["c"]),
        ("#if 0 /* off */\na\n#endif\nb", ["b"]),
        ("#if 0 && X\na\n#endif\nb", ["b"]),
        ("#ifdef X\na\n#else\nb\n#endif", ["a", "b"]),
        ("#if 1\na\n#elif X\nb\n#else\nc\n#endif", ["a"]),
        ("#endif\na\n#else\nb", ["a", "b"]),
        ("  #  if 0\na\n#endif\nb", ["b"]),
        ("a # b", ["a", "#", "b"]),
        ("#error don't\na", ["a"]),
        ("#define X \\\n  y\na", ["a"]),
        ("≈ a", ["≈", "a"]),
    ],
)
def test_code(source: str, expected: list[str]) -> None:
    assert words(source) == expected


def test_includes_and_macros_are_kept_apart() -> None:
    found = unit('#include <a/b.h>\n#include "c.cuh"\n#define TWICE(x) x x\n#if 0\n#include <d.h>\n#define Y\n#endif\n')
    assert [(include.text, include.place.line) for include in found.includes] == [("a/b.h", 1), ("c.cuh", 2)]
    assert {name: [token.text for token in body] for name, body in found.macros.items()} == {"TWICE": ["(", "x", ")", "x", "x"]}


def test_lines() -> None:
    found = unit('a \\\nb\n/* \n */ c R"(\n)" d\r\ne')
    assert [(token.text, token.place.line) for token in found.tokens] == [
        ("a", 1), ("b", 2), ("c", 4), ("\n", 4), ("d", 5), ("e", 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "kind", "name"),
    [
        ("__global__ void k(int n) { n; }", "kernel", "k"),
        ("template <typename T, int N = (1 > 0)> __global__ void k(T* x) { x; }", "kernel", "k"),
        ("static __global__ __launch_bounds__(256, 2) void k() { a; }", "kernel", "k"),
        ("__global__ void BOUNDS(256) k(float* x) { a; }", "kernel", "k"),
        ('extern "C" __global__ void k() { a; }', "kernel", "k"),
        ('extern "C" { __global__ void k() { a; } }', "kernel", "k"),
        ("namespace a::b { namespace { __global__ void k() { a; } } }", "kernel", "k"),
        ("#define KERNEL __global__ void\nKERNEL k() { a; }", "kernel", "k"),
        ("template <> __global__ void k<float>(float* x) { a; }", "kernel", "k"),
        ("__device__ float f(float x) { return x; }", "device", "f"),
        ("std::vector<at::Tensor> run(at::Tensor x) { return {x}; }", "host", "run"),
        ("auto run(at::Tensor x) -> decltype(x) { return x; }", "host", "run"),
        ("at::Tensor A::run(at::Tensor x) const noexcept { return x; }", "host", "run"),
        ("struct S : Base<int> { void f() { } };", "type", "S"),
        ("using G = Gemm<float>;", "alias", "G"),
        ("typedef Gemm<float> G;", "alias", "G"),
        ("static auto table = { a, b };", "alias", "table"),
        ('PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("a", &b); }', "binding", "PYBIND11_MODULE"),
    ],
)
def test_definitions(source: str, kind: str, name: str) -> None:
    assert (kind, name) in [(found.kind, found.name) for found in definitions(unit(source)) if found.kind != "macro"]


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(int n);",
        "template __global__ void k<float>(float* x);",
        "torch::Tensor run(torch::Tensor x);",
        "struct S;",
        "",
        "} } ; {",
        "((((",
    ],
)
def test_declarations_define_nothing_that_runs(source: str) -> None:
    assert [found for found in definitions(unit(source)) if found.kind in ("kernel", "host", "device")] == []


def test_texts_remember_where_they_come_from() -> None:
    first, second = Text.of_file("a", "1\n2"), Text.of_file("b", "3\n4")
    assert (first + second).places == (Place("a", 1), Place("a", 2), Place("b", 2))
    both = joined([first, second])
    assert both is not None
    assert both.value == "1\n2\n3\n4"
    assert both.places == (Place("a", 1), Place("a", 2), Place("b", 1), Place("b", 2))
    assert joined([]) is None


def test_sums_of_sums_end() -> None:
    text = Text.of_file("a", "x" * 1000)
    for _ in range(60):
        text += text
    assert len(text.value) < 10_000_000
