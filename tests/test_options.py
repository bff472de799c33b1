from pathlib import Path
from typing import Any

import pytest

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.request import EvaluationRequest, Source
from kbeval_jupyter.options import LATER, OPTIONS, OptionParser, add_evaluation_options, build_request, given_options

CODE = Source("x = 1", "code")


def request(**options: Any) -> EvaluationRequest:
    return build_request(CODE, CODE, options)


def parsed(*words: str) -> EvaluationRequest:
    parser = OptionParser(prog="test")
    add_evaluation_options(parser)
    return request(**given_options(parser.parse(list(words))))


def test_defaults_are_the_contracts() -> None:
    made = request()
    assert (made.stages, made.seed, made.trials, made.budget_s, made.timeout_s, made.build_timeout_s) == (
        ("compile", "correctness"), 42, 3, 5.0, 600.0, 600.0)  # fmt: skip
    assert made.sync_artifacts
    assert parsed() == made


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--target", "h100"], {"target": "h100"}),
        (["--stages", "compile, benchmark"], {"stages": ["compile", "benchmark"]}),
        (["--benchmark"], {"benchmark": True}),
        (["--seed", "7"], {"seed": 7}),
        (["--gpu-id=1"], {"gpu_id": 1}),
        (["--dtype", "float16"], {"dtype": "float16"}),
        (["--precision", "tf32"], {"precision": "tf32"}),
        (["--backward", "--public-inputs"], {"backward": True, "public_inputs": True}),
        (["--rtol", "1e-3", "--atol", "0"], {"rtol": 1e-3, "atol": 0}),
        (["--trials", "5", "--budget", "0.5"], {"trials": 5, "budget": 0.5}),
        (["--timeout", "9", "--build-timeout", "8"], {"timeout": 9, "build_timeout": 8.0}),
        (["--files", "*.h", "pack", "--name", "v3"], {"files": ["*.h", "pack"], "name": "v3"}),
        (["--artifacts", "out", "--no-sync-artifacts"], {"artifacts": Path("out"), "no_sync_artifacts": True}),
        (["--format", "functional"], {"format": "functional"}),
        (["--vs", "torch.compile", "--confirm"], {"vs": "torch.compile", "confirm": True}),
        (["--dry-run"], {"dry_run": True}),
    ],
)
def test_words_and_keywords_mean_the_same(words: list[str], options: dict[str, Any]) -> None:
    assert parsed(*words) == request(**options)


def test_what_they_mean() -> None:
    made = request(benchmark=True, trials=5, name="v3", budget=1, files="*.h", no_sync_artifacts=True, limits={"log_bytes": 1})
    assert made.stages == ("compile", "correctness", "benchmark")
    assert (made.trials, made.label, made.budget_s, made.files) == (5, "v3", 1.0, ("*.h",))
    assert not made.sync_artifacts
    assert made.limits == {"log_bytes": 1}
    assert request(vs="def custom_kernel(inputs): ...\n").stages == made.stages, "comparing is measuring"


def test_cases_and_inputs_from_text_file_and_python(tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text('[{"n": 1}]')
    for cases in (tmp_path / "cases.json", '[{"n": 1}]', [{"n": 1}]):
        assert request(cases=cases).cases == [{"n": 1}]
    made = request(inputs="def get_inputs(): return []\n")
    assert made.inputs is not None
    assert made.inputs.name == "custom inputs"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trails": 3}, r"unknown option 'trails' \(did you mean 'trials'\?\); valid: artifacts, "),
        ({"profile": True}, "option 'profile' is not in this version"),
        ({"prepare_only": True}, "option 'prepare_only' is not in this version"),
        ({"trials": 0}, "trials must be a whole number from 1 to 100000, got 0"),
        ({"trials": True}, "trials must be a whole number"),
        ({"trials": 2.5}, "trials must be a whole number"),
        ({"trials": 10**6}, "trials must be a whole number from 1 to 100000, got 1000000"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**64}, "seed must be a whole number from 0 to 18446744073709551615, got 18446744073709551616"),
        ({"gpu_id": 10**50}, "gpu_id must be a whole number from 0 to 1023, got 1000000000"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0 and at most 10000000, got 0"),
        ({"timeout": "soon"}, "timeout must be a number of seconds"),
        ({"build_timeout": 1e300}, "build_timeout must be a number of seconds above 0 and at most 10000000, got 1e.300"),
        ({"budget": 10**400}, "budget must be a number of seconds"),
        ({"rtol": float("nan")}, "rtol must be a finite number of at least 0"),
        ({"dtype": "float15"}, r"unknown dtype 'float15' \(did you mean 'float16'\?\)"),
        ({"backward": "yes"}, "backward must be True or False"),
        ({"stages": 3}, "stages must be a list of words"),
        ({"files": [1]}, "files must be a list of words"),
        ({"target": 3}, "target must be text"),
        ({"inputs": 3}, "custom inputs must be a Path"),
        ({"cases": "nothing.json.py"}, "looks like a file name"),
        ({"cases": []}, "empty"),
        ({"artifacts": 3}, "artifacts must be a folder's path"),
        ({"limits": 3}, "limits must be a dict"),
    ],
)
def test_wrong_keywords(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        request(**options)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trails", "3"], r"unknown option '--trails' \(did you mean '--trials'\?\); valid: "),
        (["--trails=3"], "unknown option '--trails'"),
        (["--profile"], "option --profile is not in this version"),
        (["--trials", "x"], "--trials must be a whole number from 1 to 100000, got 'x'"),
        (["--trials"], "expected one argument"),
        (["--dtype", "int8"], "invalid choice"),
        (["stray"], "unexpected word 'stray'"),
        (["--bench"], r"unknown option '--bench' \(did you mean '--benchmark'\?\)"),
        (["--limits", "x"], "unknown option '--limits'"),
    ],
)
def test_wrong_words(words: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parsed(*words)


def test_no_option_is_promised_twice() -> None:
    names = [option.name for option in OPTIONS]
    assert len(set(names)) == len(names)
    assert not LATER & set(names)
    fields = {f for option in OPTIONS if (f := option.field)}
    assert fields <= set(EvaluationRequest.__dataclass_fields__)


def test_help_names_every_option_of_the_shell() -> None:
    parser = OptionParser(prog="test")
    add_evaluation_options(parser)
    text = parser.format_help()
    for option in OPTIONS:
        assert (f"--{option.name}" in text) is option.shell
