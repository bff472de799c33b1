"""The magics in a real kernel: the live view, what stays of it, cancel and interrupt, and running without a page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter.model.result import MIME_TYPE
from tests.conftest import processes_of_this_session
from tests.kernel import Cell, Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STOP_LIMIT_S = 1.5  # promised: 1 s; the machine is shared
REFERENCE = """%%kernelref one
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.ones(4)]
"""
REFUSED = "class Fast: pass\n"
PASSING = """import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        print("seen from the implementation")
        return x + 1
"""
WRONG = PASSING.replace("return x + 1", "return x + 2")
ENDLESS = """import time
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(100_000):
            print("line", number, flush=True)
            time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    made = Kernel(tmp_path_factory.mktemp("notebook"))
    made.run("%load_ext kbeval_jupyter")
    made.run(REFERENCE)
    yield made
    made.close()


def frozen(cell: Cell) -> dict[str, Any]:
    """The one output that stays, and it is the result."""
    (output,) = (output for output in cell.outputs() if "data" in output)
    assert set(output["data"]) == {"text/plain", "text/html", MIME_TYPE}
    data: dict[str, Any] = output["data"][MIME_TYPE]
    return data


def error_of(cell: Cell) -> str:
    (output,) = (output for output in cell.outputs() if output["type"] == "error")
    return "\n".join(output["traceback"])


@pytest.mark.parametrize("outer", ["", "%%time\n"])
def test_the_live_view_becomes_the_result_and_is_shown_once(kernel: Kernel, outer: str) -> None:
    cell = kernel.run(f"{outer}%%kernelbench -o r\n{REFUSED}")
    assert cell.reply["status"] == "ok"
    assert frozen(cell)["verdict"] == "compile_failed"
    kinds = [message["msg_type"] for message in cell.messages]
    assert kinds.count("update_display_data") == 1
    assert kinds.count("comm_open") >= 1
    assert "execute_result" not in kinds
    assert kernel.run("print(_ is r, r.verdict, Out and True)").text() == "True compile_failed True\n"


def test_a_later_look_at_the_result_shows_it(kernel: Kernel) -> None:
    kernel.run(f"%%kernelbench -o r\n{REFUSED}")
    (output,) = kernel.run("r").outputs()
    assert output["type"] == "execute_result"
    assert output["data"][MIME_TYPE]["verdict"] == "compile_failed"
    (output,) = kernel.run("%kernelbench show v1").outputs()
    assert "text/html" in output["data"]


def test_an_assigned_line_and_a_call_are_shown_too(kernel: Kernel) -> None:
    kernel.run(f"open('k.py', 'w').write({REFUSED!r})")
    assert frozen(kernel.run("x = %kernelbench --impl k.py --name assigned"))["label"] == "assigned"
    call = "def go():\n    return get_ipython().run_line_magic('kernelbench', '--impl k.py --name called')\ny = go()"
    assert frozen(kernel.run(call))["label"] == "called"
    assert kernel.run("print(x.label, y.label)").text() == "assigned called\n"


def test_capture_keeps_the_page_clean(kernel: Kernel) -> None:
    cell = kernel.run(f"%%capture captured\n%%kernelbench -o r\n{REFUSED}")
    assert cell.outputs() == []
    assert kernel.run("print(r.verdict)").text() == "compile_failed\n"


def test_q_shows_nothing_at_all(kernel: Kernel) -> None:
    assert kernel.run(f"%%kernelbench -q\n{REFUSED}").outputs() == []
    assert kernel.run("print(_.verdict)").text() == "compile_failed\n"


def test_without_a_page_there_is_no_widget_and_the_result_stays(kernel: Kernel) -> None:
    cell = kernel.run(f"%%kernelbench\n{REFUSED}", page=False)
    assert "comm_open" not in [message["msg_type"] for message in cell.messages]
    assert frozen(cell)["verdict"] == "compile_failed"
    assert cell.text().startswith("compile failed")
    refused = kernel.run(f"%%kernelbench --detach\n{REFUSED}", page=False)
    assert "--detach needs a page" in error_of(refused)


def test_a_wrong_request_is_one_line(kernel: Kernel) -> None:
    text = error_of(kernel.run(f"%%kernelbench --reff one\n{REFUSED}"))
    assert text.startswith("KernelBench: unknown option '--reff' (did you mean '--ref'?); valid: ")
    assert "\n" not in text
    assert "Traceback" not in text


def test_commands_do_not_make_the_cell_wait(kernel: Kernel) -> None:
    assert "kernelbench" in kernel.run("%kernelbench problems").text()


def started(kernel: Kernel, line: str = "%%kernelbench") -> Cell:
    """An evaluation that prints for ever, after its first lines have reached the page."""
    cell = kernel.start(f"{line}\n{ENDLESS}")
    kernel.wait(lambda: "line 5" in cell.log())
    return cell


def test_a_passing_implementation(kernel: Kernel) -> None:
    cell = kernel.run(f"%%kernelbench --name good\n{PASSING}")
    result = frozen(cell)
    assert result["verdict"] == "passed"
    assert "seen from the implementation" in result["log_tail"]


@pytest.mark.parametrize("outer", ["", "%%time\n"])
def test_interrupt_ends_the_cell_with_one_line(kernel: Kernel, outer: str) -> None:
    cell = started(kernel, f"{outer}%%kernelbench -o stopped")
    begin = time.monotonic()
    kernel.interrupt()
    kernel.wait_done(cell)
    assert time.monotonic() - begin < STOP_LIMIT_S
    assert cell.reply["status"] == "error"
    kernel.wait(lambda: any(m["msg_type"] == "update_display_data" for m in cell.messages))
    assert frozen(cell)["verdict"] == "cancelled"
    text = error_of(cell)
    assert text.startswith("KernelBench: evaluation cancelled by interrupt after ")
    assert "\n" not in text


def test_cancel_ends_the_cell_with_one_line(kernel: Kernel) -> None:
    cell = started(kernel)
    begin = time.monotonic()
    kernel.send(cell, {"kind": "cancel"})
    kernel.wait_done(cell)
    assert time.monotonic() - begin < STOP_LIMIT_S
    assert error_of(cell).startswith("KernelBench: evaluation cancelled after ")
    assert frozen(cell)["verdict"] == "cancelled"


def test_a_page_that_was_reloaded_gets_the_log_again(kernel: Kernel) -> None:
    cell = started(kernel)
    before = len(cell.widget_messages())
    kernel.send(cell, {"kind": "sync", "from": 0})
    kernel.wait(lambda: any(m.get("replay") and m["from"] == 0 for m in cell.widget_messages()[before:]))
    kernel.send(cell, {"kind": "cancel"})
    kernel.wait_done(cell)
    lines = [line for line in cell.log() if line.startswith("line ")]
    assert lines == [f"line {i}" for i in range(len(lines))]


def test_a_page_that_was_reloaded_keeps_the_view_when_it_ends(kernel: Kernel) -> None:
    cell = started(kernel)
    for _page in range(2):
        kernel.send(cell, {"kind": "sync", "from": 0})
    kernel.send(cell, {"kind": "cancel"})
    kernel.wait_done(cell)
    states = [message["content"]["data"]["state"]["state"] for message in cell.messages if is_state(message)]
    assert states[-1]["running"] is False
    assert states[-1]["result"]["verdict"] == "cancelled"
    closed = [message["content"]["comm_id"] for message in cell.messages if message["msg_type"] == "comm_close"]
    assert cell.model not in closed
    before = len(cell.widget_messages())
    kernel.send(cell, {"kind": "sync", "from": 0})
    kernel.wait(lambda: any(m.get("replay") for m in cell.widget_messages()[before:]))


def is_state(message: dict[str, Any]) -> bool:
    """A new value of the live view's state."""
    data = message["content"].get("data") if message["msg_type"] == "comm_msg" else None
    return data is not None and "state" in data.get("state", {})


def test_detached_it_goes_on_and_can_be_cancelled(kernel: Kernel) -> None:
    cell = kernel.run(f"%%kernelbench --detach --name background -o late\n{ENDLESS}")
    assert cell.reply["status"] == "ok"
    kernel.wait(lambda: "line 5" in cell.log())
    assert "running" in kernel.run("%kernelbench history").text()
    assert "still running" in error_of(kernel.run("%kernelbench show background"))
    assert kernel.run("%kernelbench cancel").text() == "cancelling background\n"
    kernel.wait(lambda: any(m["msg_type"] == "update_display_data" for m in cell.messages))
    assert frozen(cell)["verdict"] == "cancelled"
    assert kernel.run("print(late.verdict)").text() == "cancelled\n"


def test_a_failed_trial_is_replayed_with_its_tensors(kernel: Kernel) -> None:
    kernel.run(f"%%kernelbench --name wrong\n{WRONG}")
    cell = kernel.run("again = %kernelbench replay wrong")
    assert cell.reply["status"] == "ok", error_of(cell)
    kernel.run("same = again.result.correctness.cases[0]")
    shown = kernel.run("print(again.inputs[0].tolist(), again.expected.tolist(), again.actual.tolist(), same.status)")
    assert shown.text() == "[1.0, 1.0, 1.0, 1.0] [2.0, 2.0, 2.0, 2.0] [3.0, 3.0, 3.0, 3.0] failed\n"


def test_results_are_shown_as_such_without_the_extension(tmp_path: Path) -> None:
    fresh = Kernel(tmp_path)
    try:
        code = f"from kbeval_jupyter import evaluate\nevaluate({REFUSED!r}, {REFERENCE.partition(chr(10))[2]!r})"
        (output,) = fresh.run(code).outputs()
    finally:
        fresh.close()
    assert output["type"] == "execute_result"
    assert output["data"][MIME_TYPE]["verdict"] == "compile_failed"
    assert "COMPILE FAILED" in output["data"]["text/html"]


def test_nothing_stays_when_the_kernel_is_killed(tmp_path: Path) -> None:
    doomed = Kernel(tmp_path)
    doomed.run("%load_ext kbeval_jupyter")
    doomed.run(REFERENCE)
    others = set(processes_of_this_session())
    started(doomed)
    assert set(processes_of_this_session()) - others
    doomed.close()
    deadline = time.monotonic() + 20
    while (left := set(processes_of_this_session()) - others) and time.monotonic() < deadline:
        time.sleep(0.05)  # the processes are not our children: there is nothing to wait on
    assert left == set()
