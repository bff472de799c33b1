from __future__ import annotations

from kbeval_jupyter.rendering.text_progress import LINES_AT_ONCE, LINES_IN_ALL, TextProgress

FINISHED = {"kind": "stage_finished", "stage": "compile", "status": "passed", "seconds": 0.31, "reason": ""}


def log(text: str) -> dict[str, str]:
    return {"kind": "log", "source": "implementation", "text": text}


def test_stages_and_lines_in_their_order() -> None:
    written: list[str] = []
    progress = TextProgress(written.append)
    progress.on_event(log("first\nsec"))
    progress.on_event(FINISHED)
    progress.on_event(log("ond\n"))
    progress.pump()
    assert "".join(written) == "  first\ncompile passed, 310 ms\n  second\n"


def test_it_writes_at_most_twice_a_second_unless_told_to() -> None:
    written: list[str] = []
    progress = TextProgress(written.append)
    progress.on_event(log("a\n"))
    progress.pump()
    progress.on_event(log("b\n"))
    progress.pump()
    assert written == ["  a\n"]
    progress.pump(at_once=True)
    assert written == ["  a\n", "  b\n"]


def test_of_a_flood_only_the_last_lines_are_shown() -> None:
    written: list[str] = []
    progress = TextProgress(written.append)
    progress.on_event(log("".join(f"{i}\n" for i in range(1000))))
    progress.pump()
    lines = "".join(written).splitlines()
    assert lines[0] == f"  … {1000 - LINES_AT_ONCE} lines not shown here"
    assert lines[-1] == "  999"
    assert len(lines) == LINES_AT_ONCE + 1


def test_there_is_a_limit_for_the_whole_run_but_not_for_stages() -> None:
    written: list[str] = []
    progress = TextProgress(written.append)
    for _ in range(1000):
        progress.on_event(log("x\n" * 1000))
        progress.pump(at_once=True)
    progress.on_event(FINISHED)
    progress.pump(at_once=True)
    lines = "".join(written).splitlines()
    assert len([line for line in lines if line == "  x"]) == LINES_IN_ALL
    assert len(lines) < 2 * LINES_IN_ALL
    assert lines[-1] == "compile passed, 310 ms"
