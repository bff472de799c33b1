"""Which input tensors a call changed."""

from __future__ import annotations

from typing import Any

import torch

from ..exchange.encoding import distinct_tensors

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def same_bits(left: Any, right: Any) -> bool:
    """Whether two tensors of one dtype and shape hold the same bits (NaN equals itself)."""
    left, right = left.detach().cpu(), right.detach().cpu()
    if left.is_complex():
        left, right = torch.view_as_real(left.resolve_conj()), torch.view_as_real(right.resolve_conj())
    words = _WORDS[left.element_size()]
    return bool(torch.equal(left.contiguous().view(words), right.contiguous().view(words)))


def changed_tensors(inputs: Any, pristine: Any) -> list[int]:
    """Numbers (distinct tensors in order) of the tensors in ``inputs`` that differ from ``pristine``, resized ones included."""
    pairs = zip(distinct_tensors(inputs), distinct_tensors(pristine))
    return [
        i
        for i, (now, before) in enumerate(pairs)
        if now.shape != before.shape or now.dtype != before.dtype or not same_bits(now, before)
    ]
