from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter.errors import KernelBenchError
from kbeval_jupyter.widgets import evaluation_view
from kbeval_jupyter.widgets.evaluation_view import EvaluationView, answer_on_the_pages_own_subshell
from kbeval_jupyter.widgets.log_buffer import LogBuffer
from kbeval_jupyter.widgets.widget_display import LastView

if TYPE_CHECKING:
    from pathlib import Path


def test_cancel_reaches_the_evaluation_and_the_state_is_replaced() -> None:
    cancelled = threading.Event()
    view = EvaluationView(LogBuffer(), lambda: {"running": not cancelled.is_set()}, cancelled.set)
    assert view.state == {"running": True}
    view._receive(view, {"kind": "cancel"}, [])
    assert cancelled.is_set()
    view.finish()
    assert view.state == {"running": False}
    view.close()


def test_the_last_view_stays_open_until_it_is_replaced() -> None:
    last = LastView()
    first, second = (EvaluationView(LogBuffer(), dict, lambda: None) for _ in range(2))
    for view in (first, second):
        view.finish()
    last.replace(first)
    assert first.comm is not None
    last.replace(second)
    assert (first.comm is None, second.comm is None) == (True, False)
    last.replace(None)
    assert second.comm is None


def test_messages_that_make_no_sense_are_ignored() -> None:
    view = EvaluationView(LogBuffer(), dict, lambda: None)
    for content in ({}, {"kind": "sync"}, {"kind": "sync", "from": "x"}, {"kind": "sync", "from": -1}, {"kind": "what"}):
        view._receive(view, content, [])
    view.finish()
    view.close()


def test_files_that_were_not_built_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_view, "STATIC", tmp_path)
    with pytest.raises(KernelBenchError, match=r"view\.js is missing") as caught:
        evaluation_view.require_static()
    assert "make build" in caught.value.hint


def test_only_a_comm_that_re_routes_is_changed() -> None:
    class Rerouting:
        def _reply_subshell_for(self, data: object, default: str) -> str:
            return "main"

    comm = Rerouting()
    answer_on_the_pages_own_subshell(comm)
    assert comm._reply_subshell_for({}, "subshell") == "subshell"
    plain = object()
    answer_on_the_pages_own_subshell(plain)
    answer_on_the_pages_own_subshell(None)
