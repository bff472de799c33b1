import pytest

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.request import Source
from kbeval_jupyter.problems.cases import check_cases, named_cases, parse_cases

TASK_YML = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
tests:
  - {"size": 127, "causal": True}
  - {'size': 128, 'causal': False}   # both kinds of quotes
benchmarks:
  - {"size": 4096, "causal": True}
"""


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ('[{"n": 1}, {"n": 2, "name": "two"}]', [{"n": 1}, {"n": 2, "name": "two"}]),
        ("[{'n': 1, 'causal': True, 'mask': None}]", [{"n": 1, "causal": True, "mask": None}]),
        ("  [{'n': (1, 2)}]\n", [{"n": (1, 2)}]),
        (
            TASK_YML,
            [
                {"size": 127, "causal": True, "for": "tests"},
                {"size": 128, "causal": False, "for": "tests"},
                {"size": 4096, "causal": True, "for": "benchmarks"},
            ],
        ),
        ('- {"n": 1}\n- {"n": 2}\n', [{"n": 1}, {"n": 2}]),
        ("[{}]", [{}]),
    ],
)
def test_forms_that_are_read(text: str, cases: list[object]) -> None:
    assert parse_cases(Source(text, "cases.json")) == cases


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cases.json are empty"),
        ("[]", "cases.json is empty"),
        ('[{"n": 1},\n {"n": }]', r"cases.json are not JSON: line 2, column 8"),
        ('{"n": 1}', "are an object, not a list"),
        ("[1]", "test case 1 in cases.json is the number 1, not an object"),
        ('[{"n": 1}, "x"]', "test case 2 in cases.json is text"),
        ('[{"n": NaN}]', "NaN, which is not JSON"),
        ('[{"a b": 1}]', "every key must be an argument's name"),
        ('[{"n": 1, "name": 3}]', "its name must be text"),
        ("[{'n': {1, 2}}]", "value that JSON cannot carry"),
        ("[{'n': 1e999}]", "value that JSON cannot carry"),
        ('[{"n": 1, "for": "speed"}]', "'for' must be one of tests, benchmarks, got 'speed'"),
        ("tests:\n  - {n: 1\n", r"the list under tests: in cases.json cannot be read: \{ is not closed"),
        ("tests:\n  - 1\n", "cannot be read: not key: value: 1"),
        ("tests:\n", "cases.json is empty"),
        ("tests: !include x\n", "cannot be read"),
        ("hello", "not JSON: line 1, column 1"),
        (f'[{{"n": {"9" * 5000}}}]', "cases.json cannot be read: Exceeds the limit"),
        (f'[{{"n": {"[" * 5000}{"]" * 5000}}}]', "cases.json cannot be read: maximum recursion depth"),
    ],
)
def test_forms_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_cases(Source(text, "cases.json"))


def test_position_counts_the_cells_magic() -> None:
    with pytest.raises(RequestError, match="line 3, column 1"):
        parse_cases(Source("[\n}", "cell", first_line=2))


def test_cases_given_from_python_are_checked_too() -> None:
    with pytest.raises(RequestError, match="empty"):
        check_cases([])
    assert check_cases(({"n": 1},)) == [{"n": 1}]


def test_names_tell_cases_apart() -> None:
    cases = named_cases([{"n": 1, "name": "x"}, {"n": 2, "name": "x"}, {"n": 3}, {}, {"text": "y" * 100}])
    assert [case.name for case in cases[:4]] == ["x", "x #2", "n=3", "no arguments"]
    assert len(cases[4].name) == 60
    assert [case.params for case in cases[:2]] == [{"n": 1}, {"n": 2}]


def test_tests_are_checked_and_benchmarks_are_timed() -> None:
    both = named_cases([{"n": 1, "for": "tests"}, {"n": 2, "for": "benchmarks"}, {"n": 3}])
    assert [(case.params, case.checked, case.timed) for case in both] == [
        ({"n": 1}, True, False),
        ({"n": 2}, False, True),
        ({"n": 3}, True, True),
    ]


@pytest.mark.parametrize("purpose", ["tests", "benchmarks"])
def test_a_list_with_one_purpose_serves_for_both(purpose: str) -> None:
    (case,) = named_cases([{"n": 1, "for": purpose}])
    assert (case.checked, case.timed) == (True, True)
