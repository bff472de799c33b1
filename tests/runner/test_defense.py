"""Parts of the defense stage that can be tried without an evaluation."""

import os
import threading
import time

import pytest
import torch

from kbeval_jupyter.runner.defense import bandwidth, calls
from kbeval_jupyter.runner.defense.probe import _state, _threads
from kbeval_jupyter.runner.working import global_flags, worker_defense


def test_one_element_changes_visibly() -> None:
    inputs = [torch.arange(4), torch.ones(3, 5)]
    said = calls.change_one_element(inputs, torch.Generator().manual_seed(1))
    assert said.endswith("of input 1")
    assert int((inputs[1] != 1).sum()) == 1
    assert float(inputs[1].max()) == 7.0
    assert torch.equal(inputs[0], torch.arange(4))
    assert calls.change_one_element([torch.arange(4), 3.0], torch.Generator()) == ""


def test_same_values_goes_by_bits_and_paths() -> None:
    assert calls.same_values(
        {"a": torch.tensor([float("nan")]), "b": torch.ones(2)}, {"b": torch.ones(2), "a": torch.tensor([float("nan")])}
    )
    assert not calls.same_values((torch.tensor(0.0),), (torch.tensor(-0.0),))
    assert not calls.same_values(torch.ones(2), torch.ones(2, dtype=torch.float64))


def test_bytes_that_must_be_written_leave_out_repetitions() -> None:
    row = torch.arange(100.0)
    assert bandwidth._distinct_bytes(row.expand(64, 100).contiguous()) == 400
    assert bandwidth._distinct_bytes(torch.zeros(64, 100)) == 4
    assert bandwidth._distinct_bytes(torch.randn(64, 100)) == 25_600


def test_the_peak_is_beyond_what_a_copy_shows() -> None:
    source = torch.ones(1 << 14)
    target = torch.empty_like(source)
    start = time.perf_counter_ns()
    target.copy_(source)
    took_ms = (time.perf_counter_ns() - start) / 1e6
    assert bandwidth.generous_bytes_per_ms(1) > source.nbytes / took_ms


def test_contents_change_in_place_at_the_same_address() -> None:
    old = [torch.zeros(3), {"x": torch.zeros(2, 2)}, 1]
    addresses = old[0].data_ptr(), old[1]["x"].data_ptr(), old[0]._version
    new = worker_defense._in_place([torch.ones(3), {"x": torch.full((2, 2), 5.0)}, 2], old)
    assert (new[0].data_ptr(), new[1]["x"].data_ptr(), new[0]._version) == addresses
    assert new[0].tolist() == [1, 1, 1]
    assert new[2] == 2
    other = [torch.ones(4), {"x": torch.ones(2, 2)}, 2]
    assert worker_defense._in_place(other, old) is other


def test_guarded_inputs_lie_between_bands() -> None:
    guards: list[object] = []
    whole, part = torch.randn(30), torch.randn(8, 8).t()
    guarded = worker_defense._guarded([whole, part, 4], guards)  # type: ignore[arg-type]
    assert torch.equal(guarded[0], whole)
    assert guarded[0].untyped_storage().nbytes() == whole.nbytes
    assert guarded[1] is part
    assert len(guards) == 1


@pytest.mark.parametrize("value", [True, False])
def test_flags_are_set_alike(value: bool) -> None:
    before = global_flags.read()
    try:
        global_flags.apply({"cudnn.benchmark": value, "default_dtype": "torch.float64"})
        assert global_flags.read()["cudnn.benchmark"] is value
        assert global_flags.read()["default_dtype"] == "torch.float32"
    finally:
        global_flags.apply(before)
    assert global_flags.differences({"a": 1, "b": 2}, {"a": 1, "b": 3}) == ["b is 2, the reference's 3"]


def test_a_running_thread_is_seen() -> None:
    asleep = threading.Event()
    thread = threading.Thread(target=asleep.wait)
    thread.start()
    try:
        states = {_state(os.getpid(), number) for number in _threads(os.getpid())}
        assert {"R", "S"} <= states
    finally:
        asleep.set()
        thread.join()
    assert _threads(1 << 22) == []
    assert _state(1 << 22, "1") == "X"
