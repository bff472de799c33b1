"""One result of every verdict, as a real run leaves it. ``python -m tests.rendering.examples`` writes them to tests/golden."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from kbeval_jupyter.model.result import SCHEMA, EvaluationResult, NoteReport, TargetInfo
from kbeval_jupyter.runner.report import (
    Artifact,
    BenchmarkReport,
    CaseReport,
    CaseTiming,
    CorrectnessReport,
    DefenseCheck,
    DefenseReport,
    DeviceInfo,
    ElementSample,
    Failure,
    IsolationLayer,
    OutputReport,
    Speedup,
    StageReport,
    TimingStats,
)

GOLDEN = Path(__file__).parents[1] / "golden"

H100 = TargetInfo("h100", "ssh", DeviceInfo("nvidia", "NVIDIA H100 80GB HBM3", "sm_90", 85_029_158_912, "575.57.08", 0))
LAPTOP = TargetInfo("local", "local", DeviceInfo("cpu", "AMD EPYC 9554", "x86_64", 25_769_803_776))
ENVIRONMENT = {"python": "3.11.7", "torch": "2.13.0", "triton": "3.7.1", "runner": "0.1.0+8c1f03e", "platform": "Linux 6.1"}
ISOLATION = [
    IsolationLayer("landlock", active=True),
    IsolationLayer("seccomp", active=True),
    IsolationLayer("network", active=False, reason="the host does not allow network namespaces"),
]


def result(name: str, verdict: Any, reason: str, **more: Any) -> EvaluationResult:
    defaults: dict[str, Any] = {
        "schema": SCHEMA,
        "id": f"20261130-120000-{name}",
        "label": "v1",
        "problem": "softmax",
        "format": "kernelbench",
        "seed": 42,
        "target": LAPTOP,
        "environment": ENVIRONMENT,
        "isolation": ISOLATION,
        "seconds": 1.84,
        "input_secret": "5f" * 16,
    }
    return EvaluationResult(verdict=verdict, reason=reason, **(defaults | more))


def output(**more: Any) -> OutputReport:
    defaults: dict[str, Any] = {
        "path": "",
        "shape": [128, 512],
        "dtype": "float32",
        "rtol": 1e-4,
        "atol": 1e-4,
        "max_abs": 2.4e-7,
        "max_abs_index": [17, 340],
        "mean_abs": 3.1e-8,
        "max_rel": 6.2e-6,
        "mean_rel": 4.4e-7,
        "mismatched": 0,
        "total": 65536,
        "mismatched_pct": 0.0,
        "histogram": {"0": 20011, "1e-8": 30105, "1e-7": 15420},
    }
    return OutputReport(**(defaults | more))


def passed_case(name: str = "default", trial: int = 0) -> CaseReport:
    return CaseReport(name, {}, trial, "passed", outputs=[output()])


def wrong_case(trial: int) -> CaseReport:
    bad = output(
        max_abs=0.4821,
        max_abs_index=[3, 511],
        mean_abs=0.0112,
        max_rel=1.0,
        mean_rel=0.061,
        mismatched=3201,
        mismatched_pct=4.8843,
        histogram={"0": 40011, "1e-8": 12105, "1e-7": 10219, "1e-2": 1104, "1e-1": 2097},
        samples=[
            ElementSample([3, 511], "0.48214287", "0", 0.48214287),
            ElementSample([3, 510], "0.0019344", "0", 0.0019344),
            ElementSample([17, 511], "0.0071208", "nan", None),
            ElementSample([64, 505], "0.0124811", "0.0011", 0.0113811),
        ],
    )
    return CaseReport("default", {}, trial, "failed", "3,201 of 65,536 elements are outside the tolerance", outputs=[bad])


def timing(median: float, spread: float, n: int = 240) -> TimingStats:
    samples = [round(median + spread * math.sin(i * 2.399963) * (1 + 0.2 * math.cos(i)), 7) for i in range(n)]
    q1, q3 = median - spread * 0.5, median + spread * 0.5
    return TimingStats(
        samples, n, median, q1, q3, q3 - q1, spread * 0.4, median * 1.002, min(samples), max(samples), spread * 0.7, n, 3
    )


def timed_case(name: str, params: dict[str, Any], fast: float, slow: float, claim: Any) -> CaseTiming:
    ratio = slow / fast
    return CaseTiming(
        name, params, timing(fast, fast * 0.02), timing(slow, slow * 0.05),
        Speedup(ratio, ratio * 0.985, ratio * 1.013, claim), "noise below 0.5 % after 1.2 s",
    )  # fmt: skip


def stages(**ended: Any) -> dict[str, StageReport]:
    return {name: StageReport(*value) for name, value in ended.items()}


COMPILE_LOG = [
    "[1/2] c++ -MMD -MF main.o.d -DTORCH_EXTENSION_NAME=softmax_ext -std=c++17 -c main.cpp -o main.o",
    "main.cpp: In function 'at::Tensor softmax(at::Tensor)':",
    "main.cpp:14:23: error: 'expf_' was not declared in this scope; did you mean 'expf'?",
    "   14 |         float e = expf_(row[j] - peak);",
    "      |                   ^~~~~",
    "ninja: build stopped: subcommand failed.",
]
TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "cell", line 9, in forward',
    "    return x @ self.weight.T",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x64 and 32x64)",
]

EXAMPLES: dict[str, EvaluationResult] = {
    "passed": result(
        "passed",
        "passed",
        "all 3 trials agree with the reference",
        stages=stages(compile=("passed", 0.31), correctness=("passed", 0.42)),
        correctness=CorrectnessReport(3, 3, 1.0, "state_dict", [passed_case(trial=i) for i in range(3)]),
        notes=[NoteReport("triton_interpreter", "Triton runs in its interpreter on the CPU: exact, but its times mean nothing")],
    ),
    "passed_benchmark": result(
        "passed_benchmark",
        "passed",
        "all 9 trials agree with the reference",
        label="online-softmax",
        format="functional",
        target=H100,
        seconds=21.6,
        stages=stages(compile=("passed", 8.4), correctness=("passed", 0.9), benchmark=("passed", 11.8)),
        correctness=CorrectnessReport(
            9, 9, 1.0, None, [passed_case(name, trial) for name in ("small", "medium", "large") for trial in range(3)]
        ),
        benchmark=BenchmarkReport(
            "device events around one call, each call after a flush of the cache",
            104_857_600,
            "until noise is below 0.5 % and 0.5 s are measured, at most 5 s a case",
            [
                timed_case("small", {"rows": 128, "columns": 512}, 0.00621, 0.0118, "FASTER"),
                timed_case("medium", {"rows": 4096, "columns": 1024}, 0.0312, 0.0721, "FASTER"),
                timed_case("large", {"rows": 16384, "columns": 8192}, 1.93, 1.93, "SAME"),
            ],
            geomean_speedup=1.635,
            worst_case="large",
        ),
        artifacts=[Artifact("samples", "samples.json", 48211, "ab" * 32)],
    ),
    "incorrect": result(
        "incorrect",
        "incorrect",
        "3,201 of 65,536 elements are outside the tolerance",
        stages=stages(
            compile=("passed", 0.31),
            correctness=("failed", 0.55, "2 of 3 trials failed"),
            benchmark=("skipped", None, "not right"),
        ),
        correctness=CorrectnessReport(1, 3, 1 / 3, "state_dict", [passed_case(), wrong_case(1), wrong_case(2)]),
        notes=[NoteReport("tolerance", "rtol 1e-3 instead of 1e-4, as asked", "info")],
        log_tail=["building softmax_ext", "block size 64"],
    ),
    "compile_failed": result(
        "compile_failed",
        "compile_failed",
        "cell line 14: 'expf_' was not declared in this scope; did you mean 'expf'?",
        stages=stages(compile=("failed", 11.2, "the extension did not build"), correctness=("skipped", None, "not built")),
        log_tail=COMPILE_LOG,
        seconds=11.4,
    ),
    "crashed": result(
        "crashed",
        "crashed",
        "cell line 9: RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x64 and 32x64)",
        stages=stages(compile=("passed", 0.2), correctness=("failed", 0.03, "the implementation raised")),
        log_tail=TRACEBACK,
    ),
    "timed_out": result(
        "timed_out",
        "timed_out",
        "the whole evaluation did not end within 600 s (--timeout)",
        stages=stages(compile=("passed", 0.2), correctness=("failed", 599.7, "stopped at the time limit")),
        seconds=600.1,
    ),
    "rejected": result(
        "rejected",
        "rejected",
        "the implementation changed torch.cuda.synchronize",
        stages=stages(compile=("passed", 0.2), correctness=("passed", 0.5), defense=("failed", 0.1, "patched timer")),
        defense=DefenseReport([
            DefenseCheck("fresh_inputs", True, "12 timed calls on inputs never seen before: all outputs right", {"calls": 12}),
            DefenseCheck("timers", False, "the implementation changed torch.cuda.synchronize", {"replaced": ["synchronize"]}),
        ]),
    ),
    "invalid_reference": result(
        "invalid_reference",
        "invalid_reference",
        "the reference differs from itself by more than the tolerance: two runs on the same inputs give |error| 0.31",
        stages=stages(compile=("passed", 0.2), correctness=("failed", 0.4, "the reference is not usable")),
        notes=[NoteReport("weak_problem", "zeros would pass too: every expected value is below the tolerance", "warning")],
    ),
    "not_checked": result(
        "not_checked",
        "not_checked",
        "correctness was left out (--stages compile,benchmark)",
        target=H100,
        stages=stages(compile=("passed", 0.2), benchmark=("passed", 5.1)),
        benchmark=BenchmarkReport(
            "device events around one call", 104_857_600, "until noise is below 0.5 %",
            [timed_case("default", {}, 2.1, 1.7, "SLOWER"),
             CaseTiming("tiny", {"n": 1}, None, None, None, reason="below the timer's resolution (0.5 µs)")],
            worst_case="default",
        ),
    ),
    "cancelled": result(
        "cancelled",
        "cancelled",
        "cancelled after 3.2 s",
        stages=stages(compile=("passed", 0.2), correctness=("failed", 3.0, "cancelled")),
        log_tail=[f"iteration {i}" for i in range(45)],
        seconds=3.2,
    ),
    "error": result(
        "error",
        "error",
        "torch cannot be imported on the target",
        environment={},
        isolation=[],
        target=TargetInfo("local", "local"),
        error=Failure("target", "torch cannot be imported on the target", "install it: pip install 'kbeval-jupyter[local]'"),
    ),
}  # fmt: skip


def write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, example in EXAMPLES.items():
        text = json.dumps(example.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        (GOLDEN / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
