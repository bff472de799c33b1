import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from kbeval_jupyter.runner.usercode.randomness import InputSecret, RandomnessWatch, seed_everything


def test_secrets_differ_and_replay_repeats() -> None:
    one, two = (InputSecret.make(42, public=False, replayed=None) for _ in range(2))
    assert one.secret != two.secret
    assert one.seed("inputs", "a", 0) != two.seed("inputs", "a", 0)
    again = InputSecret.make(42, public=False, replayed=one.hex)
    assert [again.seed("inputs", "a", i) for i in range(5)] == [one.seed("inputs", "a", i) for i in range(5)]


def test_every_purpose_case_trial_and_weight_seed_has_its_own() -> None:
    secret = InputSecret(b"s", 42)
    seeds = {secret.seed(purpose, case, trial) for purpose in ("inputs", "forward") for case in "abc" for trial in range(20)}
    seeds |= {InputSecret(b"s", 43).seed("inputs", case, trial) for case in "abc" for trial in range(20)}
    assert len(seeds) == 180
    assert all(0 <= seed < 1 << 32 for seed in seeds)
    assert secret.seed("inputs", "a\0001", 0) != secret.seed("inputs", "a", 10)


def test_public_inputs_follow_from_the_seed_alone() -> None:
    one, two = (InputSecret.make(42, public=True, replayed=None) for _ in range(2))
    assert one.hex is None
    assert one.seed("inputs", "a", 0) == two.seed("inputs", "a", 0)
    assert one.seed("inputs", "a", 0) != InputSecret.make(43, public=True, replayed=None).seed("inputs", "a", 0)


def test_all_generators_are_set() -> None:
    drawn = []
    for _ in range(2):
        seed_everything(2**32 - 1)
        drawn.append((torch.rand(3).tolist(), random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("draw", "drawn"),
    [
        (lambda x: torch.rand_like(x), True),
        (lambda x: torch.nn.functional.dropout(x, 0.5, training=True), True),
        (lambda x: torch.rand(3, generator=torch.Generator().manual_seed(1)), True),
        (lambda x: torch.empty(3).uniform_(generator=torch.Generator().manual_seed(1)), True),
        (lambda x: torch.nn.functional.dropout(x, 0.5, training=False), False),
        (lambda x: torch.softmax(x, 0), False),
    ],
)
def test_watch_sees_draws_from_any_generator(draw: Callable[[torch.Tensor], torch.Tensor], drawn: bool) -> None:
    with RandomnessWatch() as watch:
        draw(torch.ones(3))
    assert watch.drawn is drawn
