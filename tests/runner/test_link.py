"""The link: many evaluations at once, slow clients, new links that go on where old ones ended."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter.runner import wire

from .link_client import STAND_IN, LinkClient, make_plan, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

numbers = itertools.count()
PASS = "channel.emit(wire.Finished('passed', ''))"
NUMBERED = """
worker = spawn('''
import time
for i in range(2000):
    print("line", i)
    if i % 100 == 0:
        time.sleep(0.01)
''')
frames.receive(worker.sock)
channel.emit(wire.Finished("passed", ""))
"""


@pytest.fixture(scope="module")
def link() -> Iterator[LinkClient]:
    with LinkClient() as client:
        yield client


def test_hello(link: LinkClient) -> None:
    assert link.hello["kind"] == "hello"
    assert link.hello["runner"] == "source"
    assert link.hello["executable"] == sys.executable


def test_two_evaluations_started_at_once_do_not_mix(link: LinkClient, tmp_path: Path) -> None:
    judge = "for i in range(50): print(plan.id, i)\n" + PASS
    ids = [f"both{n}" for n in range(2)]
    lines = b"".join(
        json.dumps({"op": "run", "id": i, "plan": wire.plan_to_json(make_plan(i, judge, tmp_path))}).encode() + b"\n" for i in ids
    )
    link.stdin.write(lines)
    link.stdin.flush()
    found: dict[str, list[Any]] = {i: [] for i in ids}
    open_ids = set(ids)
    while open_ids:
        name, message = link.line()
        if name in found:
            found[name].append(message)
            if message["kind"] == "finished":
                open_ids.remove(name)
    for i in ids:
        assert text_of(found[i]) == "".join(f"{i} {n}\n" for n in range(50))
    assert len(list(tmp_path.glob("run-*"))) == 2


def test_two_thousand_lines_once_and_in_order_over_killed_links(tmp_path: Path) -> None:
    first = LinkClient()
    plan = make_plan("resumed", NUMBERED, tmp_path, grace_s=30.0)
    first.run(plan)
    run_dir = first.until("accepted")["run_dir"]
    events = [first.line()[1] for _ in range(3)]
    end(first)
    for _ in range(2):
        client = LinkClient()
        client.send(op="follow", id=plan.id, run_dir=run_dir, after=events[-1]["seq"])
        events += [client.line()[1] for _ in range(2)]
        end(client)
    with LinkClient() as last:
        last.send(op="follow", id=plan.id, run_dir=run_dir, after=events[-1]["seq"])
        events += last.events(plan.id)
    assert [e["seq"] for e in events] == list(range(len(events)))
    assert text_of(events).splitlines() == [f"line {i}" for i in range(2000)]
    assert events[-1]["verdict"] == "passed"


def end(client: LinkClient) -> None:
    client.process.kill()
    client.process.wait()
    client.stdin.close()
    client.stdout.close()


def test_a_follower_can_cancel(tmp_path: Path) -> None:
    first = LinkClient()
    first.run(make_plan("handed-over", "print('on'); import time; time.sleep(1000)", tmp_path, grace_s=30.0))
    run_dir = first.until("accepted")["run_dir"]
    first.log_until("on")
    end(first)
    with LinkClient() as second:
        second.send(op="follow", id="handed-over", run_dir=run_dir, after=-1)
        second.log_until("on")
        second.send(op="cancel", id="handed-over")
        assert second.until("finished")["verdict"] == "cancelled"


def test_nobody_comes_back_within_the_grace(tmp_path: Path) -> None:
    client = LinkClient()
    client.run(make_plan("alone", "print('on'); import time; time.sleep(1000)", tmp_path, grace_s=0.3))
    client.log_until("on")
    end(client)
    (run_dir,) = tmp_path.glob("run-*")
    deadline = time.monotonic() + 5
    while b'"finished"' not in (run_dir / "events.jsonl").read_bytes():
        assert time.monotonic() < deadline
    final = json.loads((run_dir / "events.jsonl").read_text().splitlines()[-1])
    assert (final["verdict"], final["reason"]) == ("cancelled", "the client went away")


def test_a_finished_evaluation_can_be_followed_from_its_file(link: LinkClient, tmp_path: Path) -> None:
    link.run(make_plan("over", "print('x')\n" + PASS, tmp_path))
    run_dir = link.until("accepted", "over")["run_dir"]
    events = link.events("over")
    link.send(op="follow", id="over", run_dir=run_dir, after=0)
    assert link.events("over") == events[1:]


def test_a_client_that_reads_nothing_costs_no_memory(tmp_path: Path) -> None:
    judge = """
worker = spawn('''
import os
line = b"z" * 99 + b"\\\\n"
for _ in range(400):
    os.write(1, line * 1000)
''')
frames.receive(worker.sock)
channel.emit(wire.Finished("passed", ""))
"""
    with LinkClient() as client:
        client.run(make_plan("slow", judge, tmp_path))
        run_dir = Path(client.until("accepted")["run_dir"])
        deadline = time.monotonic() + 30
        while (run_dir / "private").exists():  # until it is over
            assert time.monotonic() < deadline
        status = Path(f"/proc/{client.process.pid}/status").read_text()
        peak_kb = int(status.split("VmHWM:")[1].split()[0])
        assert peak_kb < 40_000
        assert len(text_of(client.events("slow"))) == 40_000_000


def test_a_client_that_takes_everything_at_once_gets_everything(tmp_path: Path) -> None:
    judge = """
worker = spawn("import os\\nfor _ in range(5000): os.write(1, b'y' * 999 + b'\\\\n')")
frames.receive(worker.sock)
channel.emit(wire.Finished("passed", ""))
"""
    with LinkClient() as client:
        client.run(make_plan("greedy", judge, tmp_path))
        run_dir = client.until("accepted")["run_dir"]
        assert len(text_of(client.events("greedy"))) == 5_000_000
    took = tmp_path / "took"
    with took.open("wb") as out:  # a file never blocks, and an evaluation that is over rings no bell
        link = subprocess.Popen([sys.executable, "-I", "-S", str(STAND_IN), "link"], stdin=subprocess.PIPE, stdout=out)
    assert link.stdin is not None
    link.stdin.write(json.dumps({"op": "follow", "id": "greedy", "run_dir": run_dir}).encode() + b"\n")
    link.stdin.flush()
    deadline = time.monotonic() + 20
    while b'{"kind":"finished"' not in took.read_bytes()[-2000:]:
        assert time.monotonic() < deadline, "the link stopped although its output never blocks"
    link.stdin.close()
    link.wait(10)
    events = [json.loads(line.partition(b" ")[2]) for line in took.read_bytes().splitlines() if line.startswith(b"greedy ")]
    assert len(text_of(events)) == 5_000_000


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[]", b"{}", b'{"op":"run"}', b'{"op":"run","id":"a b"}', b'{"op":"run","id":3}', b"\xff\xff"]
)
def test_what_it_does_not_understand_it_says(link: LinkClient, line: Any) -> None:
    link.stdin.write(line + b"\n")
    link.stdin.flush()
    name, message = link.line()
    assert name == "-"
    assert message["kind"] == "failed"
    assert message["error"]["kind"] == "protocol"


def test_a_plan_that_is_wrong_is_refused_with_the_place(link: LinkClient) -> None:
    link.send(op="run", id="wrong", plan={"wire": 1, "id": "wrong"})
    error = link.until("failed", "wrong")["error"]
    assert error["kind"] == "request"
    assert error["message"] == "plan: 'label' is missing"


def test_follow_of_nothing(link: LinkClient, tmp_path: Path) -> None:
    link.send(op="follow", id="nothing", run_dir=str(tmp_path / "none"), after=-1)
    assert link.until("failed", "nothing")["error"]["kind"] == "gone"


def test_a_killed_supervisor_is_told(link: LinkClient, tmp_path: Path) -> None:
    link.run(make_plan("orphan", "import os, time; print(os.getppid(), 'end'); time.sleep(1000)", tmp_path))
    supervisor = link.log_until("end").split()[0]
    subprocess.run(["kill", "-9", supervisor], check=True)
    assert link.until("failed", "orphan")["error"]["kind"] == "supervisor_died"


def test_the_link_leaves_with_its_client_and_prints_nothing() -> None:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(STAND_IN), "link"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(5) == 0
        assert process.stderr.read() == b""
