"""Two outputs of 256 MB in another process: handed over, made private, checked and compared completely, as the judge does it."""

from __future__ import annotations

import json
import os
import socket
import statistics
import time
from typing import TYPE_CHECKING

import torch

from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.exchange import tree
from kbeval_jupyter.runner.exchange.arena import Arena
from kbeval_jupyter.runner.exchange.encoding import encode_outputs
from kbeval_jupyter.runner.exchange.materialise import build_outputs
from kbeval_jupyter.runner.judging.outputs import Rules, compare_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

ELEMENTS = 1 << 26  # of float32: 256 MiB
ROUNDS = 5


def outputs() -> tuple[torch.Tensor, torch.Tensor]:
    """A reference's output and one that differs from it in the last bits, as two implementations do."""
    generator = torch.Generator().manual_seed(0)
    expected = torch.randn(ELEMENTS, generator=generator)
    return expected, expected * (1 + 1e-7)


def worker(channel: socket.socket, arenas: list[Arena]) -> None:
    """Hold both outputs; at each line that comes, put them into the arenas and answer with their trees."""
    results = outputs()
    with channel.makefile("rw") as lines:
        print("ready", file=lines, flush=True)
        for _ in lines:
            for arena in arenas:
                arena.reset()
            trees = [encode_outputs(result, arena) for result, arena in zip(results, arenas, strict=True)]
            print(json.dumps(trees), file=lines, flush=True)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure() -> tuple[float, float]:
    """Median seconds of torch.allclose alone, and of everything that we do, in turn; the first round warms both."""
    arenas = [Arena.create(4 * ELEMENTS) for _ in range(2)]
    ours, theirs = socket.socketpair()
    pid = os.fork()  # before this process used threads, as our server does
    if pid == 0:
        ours.close()
        worker(theirs, arenas)
        os._exit(0)
    theirs.close()
    expected, actual = outputs()
    rules = Rules(wire.Tolerance())
    with ours, ours.makefile("rw") as lines:
        assert lines.readline() == "ready\n"

        def hand_over_and_compare() -> None:
            torch.set_num_threads(1)  # as in the judge
            print("go", file=lines, flush=True)
            nodes = [
                tree.decode(message, arena.size) for message, arena in zip(json.loads(lines.readline()), arenas, strict=True)
            ]
            comparison = compare_outputs(build_outputs(nodes[0], arenas[0]), nodes[1], arenas[1], rules)
            assert comparison.passed, comparison.reason
            assert comparison.reports[0].total == ELEMENTS

        threads = torch.get_num_threads()

        def allclose() -> None:
            torch.set_num_threads(threads)
            assert torch.allclose(actual, expected, rtol=1e-4, atol=1e-4)

        rounds = [(seconds(allclose), seconds(hand_over_and_compare)) for _ in range(1 + ROUNDS)][1:]
    os.waitpid(pid, 0)
    return statistics.median(alone for alone, _ in rounds), statistics.median(whole for _, whole in rounds)
