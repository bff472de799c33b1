"""The judge from end to end: real server, supervisor, nursery and workers."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from kbeval_jupyter import EvaluationResult, evaluate, sources
from kbeval_jupyter.api import start, wait
from kbeval_jupyter.notebook.regions import saved_errors
from kbeval_jupyter.options import build_request

HEAD = "import os, torch\nfrom torch import nn\n"


def problem(forward: str, inputs: str = "[torch.randn(16, 16)]", init: str = "[]", construct: str = "") -> str:
    body = "\n".join(f"        {line}" for line in forward.splitlines())
    made = "\n".join(f"        {line}" for line in construct.splitlines())
    constructor = f"    def __init__(self, *args, **kwargs):\n        super().__init__()\n{made}\n" if construct else ""
    return (
        f"{HEAD}class Model(nn.Module):\n{constructor}    def forward(self, x, *more):\n{body}\n"
        f"def get_inputs():\n    return {inputs}\ndef get_init_inputs():\n    return {init}\n"
    )


def implementation(forward: str, construct: str = "") -> str:
    return problem(forward, construct=construct).split("def get_inputs")[0].replace("Model(", "ModelNew(")


def judged(reference: str, forward: str, construct: str = "", **options: Any) -> EvaluationResult:
    return evaluate(implementation(forward, construct), reference, **options)


def functional(reference: str, kernel: str, **options: Any) -> EvaluationResult:
    return evaluate(HEAD + kernel, HEAD + reference, **options)


def codes(result: EvaluationResult) -> set[str]:
    return {note.code for note in result.notes}


PLAIN = problem("return x * 2")


def test_passed_result_holds_numbers() -> None:
    result = judged(PLAIN, "return x + x", trials=4)
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert [case.trial for case in result.correctness.cases] == [0, 1, 2, 3]
    (output,) = result.correctness.cases[0].outputs
    assert (output.shape, output.dtype, output.mismatched, output.total) == ([16, 16], "float32", 0, 256)
    assert (output.rtol, output.atol, output.max_abs) == (1e-4, 1e-4, 0.0)
    assert result.input_secret is not None
    assert len(result.input_secret) == 64


def test_inputs_cannot_be_foreseen_and_are_public_on_request() -> None:
    show = "print('first', x[0, 0].item())\nreturn x + x"
    seen = [judged(PLAIN, show, public_inputs=public).log_tail for public in (False, False, True, True)]
    first = [[line for line in log if line.startswith("first")] for log in seen]
    assert all(first)
    assert first[0] != first[1]
    assert first[2] == first[3]
    assert len(set(first[0])) == 3, "every trial has inputs of its own; the first call has those of trial 0"


def test_replay_repeats_a_trial_and_keeps_its_tensors(tmp_path: Path) -> None:
    wrong = "y = x * 2\ny[3, 5] += 1\nreturn {'y': y}"
    reference = problem("return {'y': x * 2}")
    failed = judged(reference, wrong, artifacts=tmp_path / "a")
    assert failed.verdict == "incorrect"
    saved = torch.load(next(failed.artifacts_dir.glob("*.pt")), weights_only=True)
    ours, theirs = sources.from_value(implementation(wrong), "implementation"), sources.from_value(reference, "reference")
    request = build_request(ours, theirs, {"artifacts": tmp_path / "b"})
    again = wait(start(dataclasses.replace(request, secret=failed.input_secret, replay=("default", 0))))
    replayed = torch.load(next(again.artifacts_dir.glob("replay*.pt")), weights_only=True)
    assert again.correctness is not None
    assert len(again.correctness.cases) == 1
    for tensors in (saved, replayed):
        difference = tensors["actual"]["y"] - tensors["expected"]["y"]
        assert difference.nonzero().tolist() == [[3, 5]]
        assert torch.equal(tensors["expected"]["y"], tensors["inputs"][0] * 2)
    assert torch.equal(saved["inputs"][0], replayed["inputs"][0])
    assert failed.correctness is not None
    first, repeated = (report.cases[0].outputs[0] for report in (failed.correctness, again.correctness))
    assert repeated == first, "the same worst element, bit by bit, and all that is said about it"
    assert (first.max_abs_index, first.pattern_kind) == ([3, 5], "scattered")
    assert saved_errors(again, first.path).region(range(3, 4), range(5, 6)) == [[first.max_abs]]


def test_implementation_that_changes_its_inputs() -> None:
    result = judged(PLAIN, "return x.mul_(2).clone()")
    assert result.verdict == "incorrect"
    assert "changed its inputs in place (inputs[0])" in result.reason


def test_what_the_reference_changes_is_compared() -> None:
    reference = problem("x.add_(1)\nreturn x * 2")
    assert judged(reference, "x.add_(1)\nreturn x * 2").verdict == "passed"
    unchanged = judged(reference, "return (x + 1) * 2")
    assert unchanged.verdict == "incorrect"
    assert "inputs[0]" in unchanged.reason
    assert judged(reference, "x.add_(2)\nreturn (x - 1) * 2").verdict == "incorrect"


def test_same_tensor_twice_stays_the_same_tensor() -> None:
    reference = problem("x.add_(1)\nreturn more[0] * 2", inputs="[torch.randn(4)] * 2")
    assert judged(reference, "x.add_(1)\nreturn more[0] * 2").verdict == "passed"
    assert judged(reference, "assert more[0] is x\nreturn x.add_(1) * 2").verdict == "passed"


def test_weights_by_name_else_by_seed() -> None:
    reference = problem("return self.a(x) + self.b(x)", construct="self.a = nn.Linear(16, 16)\nself.b = nn.Linear(16, 16)")
    swapped = judged(reference, "return self.a(x) + self.b(x)", "self.b = nn.Linear(16, 16)\nself.a = nn.Linear(16, 16)")
    assert swapped.verdict == "passed", swapped.reason
    assert swapped.correctness is not None
    assert swapped.correctness.weights == "state_dict"
    renamed = judged(reference, "return self.p(x) + self.q(x)", "self.p = nn.Linear(16, 16)\nself.q = nn.Linear(16, 16)")
    assert renamed.verdict == "passed", renamed.reason
    assert renamed.correctness is not None
    assert renamed.correctness.weights == "seed"


@pytest.mark.parametrize("init", ["[16]", "(16,)", "{'n': 16}"])
def test_forms_of_init_inputs(init: str) -> None:
    made = "n = args[0] if args else kwargs['n']\nself.w = nn.Parameter(torch.randn(n))"
    assert judged(problem("return x * self.w", init=init, construct=made), "return self.w * x", made).verdict == "passed"


def test_dropout_and_constructors_that_seed_themselves() -> None:
    reference = problem("return torch.nn.functional.dropout(x, 0.5, training=True)", construct="torch.manual_seed(7)")
    result = judged(reference, "return torch.nn.functional.dropout(x, 0.5, training=True)", "torch.manual_seed(9); torch.rand(5)")
    assert result.verdict == "passed", result.reason


@pytest.mark.parametrize("noise", ["torch.randn_like(x)", "torch.rand(16, 16, generator=torch.Generator().manual_seed(3))"])
def test_small_random_part_cannot_be_left_out(noise: str) -> None:
    reference = problem(f"return x + 0.02 * {noise}")
    assert judged(reference, f"return x + 0.02 * {noise}").verdict == "passed"
    without = judged(reference, "return x * 1")
    assert without.verdict == "incorrect"
    assert without.correctness is not None
    assert any("draws random numbers" in text for text in without.correctness.cases[0].warnings)


def test_a_case_may_have_any_name() -> None:
    cases = [{"n": 4, "name": "../" + "länge " * 100}]
    failed = functional(
        "def generate_input(n): return torch.randn(n)\ndef ref_kernel(x): return x\n",
        "def custom_kernel(x): return -x",
        cases=cases,
    )
    assert failed.verdict == "incorrect"
    (saved,) = failed.artifacts
    assert torch.load(failed.artifacts_dir / saved.path, weights_only=True)["case"] == cases[0]["name"]


def test_files_beside_the_source_by_relative_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "factor.txt").write_text("2")
    forward = "return x * float(open('data/factor.txt').read())"
    (tmp_path / "reference.py").write_text(problem(forward))
    (tmp_path / "mine.py").write_text(
        implementation(
            f"with open('notes.txt', 'a') as notes: notes.write('x')\n{forward}",
            construct="open(os.path.join(os.path.dirname(__file__), 'generated.cu'), 'w').close()",
        )
    )
    result = evaluate(tmp_path / "mine.py", tmp_path / "reference.py", stages="all", budget=0.2, artifacts=tmp_path / "kept")
    assert result.verdict == "passed", result.reason
    assert {path.name for path in tmp_path.iterdir()} == {"data", "reference.py", "mine.py", "kept"}


LAZY, EAGER = "self.f = nn.LazyLinear(16)", "self.f = nn.Linear(16, 16)"


@pytest.mark.parametrize(("reference", "construct"), [(LAZY, LAZY), (LAZY, EAGER), (EAGER, LAZY)])
def test_lazy_weights_are_handed_over(reference: str, construct: str) -> None:
    result = judged(problem("return self.f(x)", construct=reference), "return self.f(x)", construct, stages="all", budget=0.2)
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert result.correctness.weights == "state_dict"


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        ("for _ in range(100): x = [x]\nreturn x", "is nested more than 32 levels deep"),
        ("x = [x]\nx.append(x)\nreturn x", "is nested more than 32 levels deep"),
        ("return [x] * 20000", "has more than 10000 parts"),
    ],
)
def test_structures_without_bounds(forward: str, what: str) -> None:
    reference = judged(problem(forward), forward)
    assert (reference.verdict, reference.reason) == ("invalid_reference", f"the reference's output {what}")
    assert judged(PLAIN, forward).verdict == "incorrect"


def test_eight_bit_floats() -> None:
    reference = problem("return x.to(torch.float8_e4m3fn)")
    assert judged(reference, "return x.to(torch.float8_e4m3fn)").verdict == "passed"
    assert judged(reference, "return (2 * x + 1).to(torch.float8_e4m3fn)").verdict == "incorrect"


def test_output_of_none_says_something_only_with_a_change_in_place() -> None:
    nothing = judged(problem("return None"), "return None")
    assert nothing.verdict == "incorrect"
    assert "nothing to compare" in nothing.reason
    reference = problem("x.mul_(2)")
    assert judged(reference, "x.mul_(2)", stages="all", budget=0.2).verdict == "passed"
    assert judged(reference, "x.mul_(3)").verdict == "incorrect"


def test_earned_nan_is_legitimate() -> None:
    reference = problem("return torch.sqrt(x)")
    assert judged(reference, "return x.sqrt()").verdict == "passed"
    assert judged(reference, "return x.abs().sqrt()").verdict == "incorrect"


def test_weak_problems_are_named() -> None:
    zero = judged(problem("return x.relu().clamp(max=0)"), "return torch.zeros_like(x)")
    assert zero.verdict == "passed"
    assert "weak_problem" in codes(zero)
    assert zero.correctness is not None
    assert "zeros would pass" in zero.correctness.cases[0].warnings[0]
    constant = judged(problem("return torch.full_like(x, 3.0)"), "return torch.full_like(x, 3.0)")
    assert any("mean" in note.text for note in constant.notes)
    fixed = judged(problem("return torch.arange(5.0) + 0 * x[0, :5]"), "return torch.arange(5.0)")
    assert any("does not depend on the inputs" in note.text for note in fixed.notes)
    assert codes(judged(PLAIN, "return x + x")) == set()


def test_input_function_that_seeds_itself_is_named() -> None:
    reference = PLAIN.replace("def get_inputs():", "def get_inputs():\n    torch.manual_seed(0)")
    assert "constant_inputs" in codes(judged(reference, "return x + x"))


def test_seed_argument_of_the_input_function_is_fresh() -> None:
    reference = """
def generate_input(n, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return torch.randn(n, generator=generator)
def ref_kernel(x):
    return x * 2
"""
    result = functional(
        reference, "def custom_kernel(x):\n    print('x', x[0].item())\n    return x + x", cases=[{"n": 4, "seed": 1}]
    )
    assert result.verdict == "passed", result.reason
    assert "constant_inputs" not in codes(result)
    assert len({line for line in result.log_tail if line.startswith("x")}) == 3


def test_several_cases_and_the_score() -> None:
    reference = "def generate_input(n):\n    return torch.randn(n)\ndef ref_kernel(x):\n    return x * 2\n"
    cases = [{"n": n} for n in (3, 1000, 5)]
    result = functional(reference, "def custom_kernel(x):\n    return x * (2 if len(x) < 100 else 3)", cases=cases, trials=2)
    assert result.verdict == "incorrect"
    assert result.correctness is not None
    assert [case.status for case in result.correctness.cases] == ["passed"] * 2 + ["failed"] * 2 + ["passed"] * 2
    assert 0 < result.correctness.score < 1
    raising = functional(reference, "def custom_kernel(x):\n    assert len(x) < 100\n    return x * 2", cases=cases, trials=2)
    assert raising.verdict == "crashed"
    assert raising.correctness is not None
    assert [case.status for case in raising.correctness.cases].count("passed") == 4


CHECKED = """
def generate_input():
    return torch.randn(8)
def ref_kernel(x):
    return x.sort().values
def check_implementation(inputs, output):
"""


@pytest.mark.parametrize(
    "body",
    [
        "    return torch.equal(output, inputs.sort().values)",
        "    ok = torch.equal(output, inputs.sort().values)\n    return ok, '' if ok else 'not sorted'",
        "    return '' if torch.equal(output, inputs.sort().values) else 'not sorted'",
        "    assert torch.equal(output, inputs.sort().values), 'not sorted'",
    ],
)
def test_forms_of_checkers(body: str) -> None:
    assert functional(CHECKED + body, "def custom_kernel(x):\n    return x.sort().values").verdict == "passed"
    wrong = functional(CHECKED + body, "def custom_kernel(x):\n    return x.sort(descending=True).values")
    assert wrong.verdict == "incorrect"
    assert "check_implementation" in wrong.reason
    assert "not sorted" in wrong.reason or "return torch.equal" in body


def test_checker_that_stumbles() -> None:
    good = CHECKED + "    return bool((output.diff() >= 0).all())"
    result = functional(good, "def custom_kernel(x):\n    return 'text'")
    assert result.verdict == "incorrect"
    assert "stumbled" in result.reason
    broken = functional(CHECKED + "    return output.nonsense", "def custom_kernel(x):\n    return x.sort().values")
    assert broken.verdict == "invalid_reference"
    refusing = functional(CHECKED + "    return False", "def custom_kernel(x):\n    return x.sort().values")
    assert refusing.verdict == "invalid_reference"
    big = functional(good, "def custom_kernel(x):\n    return torch.zeros(1 << 22)")
    assert big.verdict == "incorrect"
    assert "far larger" in big.reason


def test_gradients_of_parameters() -> None:
    reference = problem("return x @ self.w", construct="self.w = nn.Parameter(torch.randn(16, 16))")
    right = "return torch.matmul(x, self.w)"
    made = "self.w = nn.Parameter(torch.randn(16, 16))"
    assert judged(reference, right, made, backward=True).verdict == "passed"
    wrong = judged(reference, "return x @ self.w.detach() + 0 * self.w.sum()", made, backward=True)
    assert wrong.verdict == "incorrect"
    assert "parameter_gradients" in wrong.reason
    detached = judged(reference, "return (x @ self.w).detach()", made, backward=True)
    assert detached.verdict == "incorrect"
    assert detached.reason == "trial 0: 0 output tensors can be differentiated; the reference has 1"


def test_dtype_is_applied_to_both_sides() -> None:
    reference = problem("return self.l(x)", construct="self.l = nn.Linear(16, 16)")
    result = judged(
        reference, "assert x.dtype == torch.bfloat16\nreturn self.l(x)", "self.l = nn.Linear(16, 16)", dtype="bfloat16"
    )
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert result.correctness.cases[0].outputs[0].dtype == "bfloat16"
    assert result.correctness.cases[0].outputs[0].rtol == 1e-2


def test_half_precision_shortcut_and_the_option_that_allows_it() -> None:
    reference = problem("return x @ x", inputs="[torch.randn(128, 128)]")
    half = "return (x.half() @ x.half()).float()"
    refused = judged(reference, half)
    assert refused.verdict == "incorrect"
    assert "--precision tf32" in refused.reason
    mostly_zero = judged(
        reference.replace("x @ x", "(x @ x - 8).relu()"), "return ((x.half() @ x.half()).float() - 8).relu()", atol=1e-9
    )
    assert "rounding" in mostly_zero.reason
    assert judged(reference, "return x.double().mm(x.double()).float()").verdict == "passed"
    allowed = judged(reference, half, precision="tf32", rtol=1e-2, atol=1e-1)
    assert allowed.verdict == "passed"
    assert "changed_defaults" in codes(allowed)


def test_integer_and_scalar_outputs() -> None:
    loss = problem(
        "return torch.nn.functional.nll_loss(x.log_softmax(1), more[0])", inputs="[torch.randn(8, 5), torch.randint(0, 5, (8,))]"
    )
    result = judged(loss, "assert more[0].dtype == torch.int64\nreturn torch.nn.functional.cross_entropy(x, more[0])")
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert result.correctness.cases[0].outputs[0].shape == []


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("os.write(CHANNEL, b'\\xff' * 100); os._exit(0)", "protocol"),
        ("os.write(CHANNEL, b'\\x02\\x00\\x00\\x00[]'); return x", "protocol"),
        ("os.write(CHANNEL, b'\\x02\\x00\\x00\\x00{}'); return x", "protocol"),
        ("m = b'{\"ok\":{}}'; os.write(CHANNEL, len(m).to_bytes(4, 'little') + m); return x", "protocol"),
        ("os.close(CHANNEL); return x", "connection"),
        ("import socket; socket.socket(fileno=CHANNEL).shutdown(2); return x", "connection"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
    ],
)
def test_worker_that_breaks_the_protocol(forward: str, words: str) -> None:
    find = "for CHANNEL in range(3, 64):\n    try: mode = os.fstat(CHANNEL).st_mode\n    except OSError: continue\n"
    find += "    if mode & 0o170000 == 0o140000: break\n"
    result = judged(PLAIN, find + forward)
    assert result.verdict == "crashed", result.reason
    assert words in result.reason
    assert result.passed is False


def test_traceback_shows_the_users_lines_only() -> None:
    result = judged(PLAIN, "return self.helper(x)")
    assert result.verdict == "crashed"
    text = "\n".join(result.log_tail)
    assert "has no attribute 'helper'" in text
    assert "line 5, in forward" in text
    assert "worker_call" not in text


def test_large_output_of_wrong_shape() -> None:
    result = judged(PLAIN, "return torch.zeros(4096, 4096)")
    assert result.verdict == "incorrect"
    assert "[4096, 4096]" in result.reason
    assert "[16, 16]" in result.reason


def test_debug_tensors_are_bounded(tmp_path: Path) -> None:
    result = judged(PLAIN, "return x * 3", limits={"artifact_bytes": 100}, artifacts=tmp_path)
    assert result.verdict == "incorrect"
    assert "tensors_not_saved" in codes(result)


def test_reference_that_returns_something_else() -> None:
    result = judged(problem("return {1, 2}"), "return x")
    assert result.verdict == "invalid_reference"
    assert "set" in result.reason


def test_inputs_that_cannot_travel() -> None:
    result = judged(problem("return x", inputs="[torch.ones(3), lambda: None]"), "return x")
    assert result.verdict == "invalid_reference"
    assert "[1] is of type function" in result.reason


def test_compile_alone_checks_nothing() -> None:
    result = judged(PLAIN, "return x * 3", stages=("compile",))
    assert (result.verdict, result.passed) == ("not_checked", None)
    raising = judged(PLAIN, "raise ValueError('early')", stages=("compile",))
    assert raising.verdict == "crashed"
    assert "early" in raising.reason
