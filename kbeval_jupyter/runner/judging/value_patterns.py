"""What wrong elements hold instead of the expected values, judged on those that the analysis kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..report import PatternKind

if TYPE_CHECKING:
    from .tolerance import Tolerance

NEARLY_ALL = 0.98  # share of the wrong elements looked at that a claim must explain
FEW = 3  # below so many wrong elements nothing is said about values that could agree by chance
QUICK = 512  # elements on which shifts are tried first
SHIFTS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Meaning:
    """A kind and a sentence, which may ask."""

    kind: PatternKind
    sentence: str


def meaning_of(places: Any, expected: Any, actual: Any, tolerance: Tolerance | None) -> Meaning | None:
    """What the elements at the flat indices ``places`` hold, or None where nothing explains nearly all of them."""
    wrong = _Wrong(places, expected, actual, tolerance)
    simple = wrong.not_finite() or wrong.constant()
    if simple is not None or len(places) < FEW:
        return simple
    return wrong.sign() or wrong.factor() or wrong.offset() or wrong.transposed() or wrong.shifted()


class _Wrong:
    """Wrong elements in float64 (complex128), and the tensors that they are from."""

    def __init__(self, places: Any, expected: Any, actual: Any, tolerance: Tolerance | None) -> None:
        self.places, self.shape, self.tolerance = places, list(expected.shape), tolerance
        self.wide = torch.complex128 if expected.is_complex() else torch.float64
        self.source = expected.reshape(-1)
        self.expected = self.source[places].to(self.wide)
        self.actual = actual.reshape(-1)[places].to(self.wide)

    def _explained(self, values: Any, actual: Any | None = None) -> bool:
        """Whether nearly all elements hold these values."""
        actual = self.actual if actual is None else actual
        return bool(self._agree(values, actual).double().mean() >= NEARLY_ALL)

    def _agree(self, values: Any, actual: Any) -> Any:
        if self.tolerance is None:
            return values == actual
        return (values - actual).abs() <= self.tolerance.atol + self.tolerance.rtol * values.abs()

    def not_finite(self) -> Meaning | None:
        finite = self.expected.isfinite()
        nan = float((finite & self.actual.isnan()).double().mean())
        inf = float((finite & self.actual.isinf()).double().mean())
        if nan + inf < 0.9:
            return None
        kind: PatternKind = "nan" if nan >= inf else "inf"
        name = "NaN" if kind == "nan" else "infinite"
        which = "The wrong elements are" if max(nan, inf) > NEARLY_ALL else "Most of the wrong elements are"
        return Meaning(kind, f"{which} {name} where finite values are expected.")

    def constant(self) -> Meaning | None:
        value = self.actual[0]
        same = self.actual == value
        if float(same.double().mean()) < NEARLY_ALL or len(self.actual) < FEW:
            return None
        if value == 0:
            return Meaning("zeros", "The wrong elements hold 0 where values are expected: are they never written?")
        if bool((self.expected == self.expected[0]).all()):
            return None  # both are constant: factor, offset and constant say the same
        return Meaning("constant", f"The wrong elements all hold {_short(value)}: are they never written?")

    def sign(self) -> Meaning | None:
        return Meaning("sign", "The wrong elements have the wrong sign.") if self._explained(-self.expected) else None

    def transposed(self) -> Meaning | None:
        """The last two dimensions written in the other order, so that memory holds the transpose."""
        if len(self.shape) < 2 or min(self.shape[-2:]) < 2:
            return None
        height, width = self.shape[-2:]
        image, inside = self.places // (height * width), self.places % (height * width)
        source = image * (height * width) + inside % height * width + inside // height
        if not self._explained(self.source[source].to(self.wide)):
            return None
        which = "the last two dimensions are swapped" if len(self.shape) > 2 else "rows and columns are swapped"
        return Meaning("transposed", f"The result is the transpose of what is expected, in memory: {which}.")

    def shifted(self) -> Meaning | None:
        directions = [(len(self.shape) - 1, 1)] if self.shape else []
        if len(self.shape) > 1:
            directions.append((len(self.shape) - 2, self.shape[-1]))
        for dim, stride in directions:
            index = self.places // stride % self.shape[dim]
            for step in SHIFTS:
                for shift in (step, -step):
                    if step < self.shape[dim] and self._is_shift(index, dim, stride, shift):
                        name = "element" if len(self.shape) == 1 else ("column" if stride == 1 else "row")
                        many = name if step == 1 else f"{name}s"
                        side = "before" if shift < 0 else "after"
                        text = f"The values are shifted: each wrong element holds what is expected {step} {many} {side} it."
                        return Meaning("shifted", text)
        return None

    def _is_shift(self, index: Any, dim: int, stride: int, shift: int) -> bool:
        inside = (index + shift >= 0) & (index + shift < self.shape[dim])
        if float(inside.double().mean()) < 0.5:
            return False
        places, actual = self.places[inside], self.actual[inside]
        step = max(1, len(places) // QUICK)
        quick = self.source[places[::step] + shift * stride].to(self.wide)
        return self._explained(quick, actual[::step]) and self._explained(
            self.source[places + shift * stride].to(self.wide), actual
        )

    def factor(self) -> Meaning | None:
        large = self.expected.abs() > 0.1 * self.expected.abs().max()
        if not bool(large.any()) or not self._varied():
            return None
        ratio = (self.actual[large] / self.expected[large]).real.median()
        if not bool(ratio.isfinite()) or ratio == 0 or not self._explained(self.expected * ratio):
            return None
        inverse = 1.0 / float(ratio)
        as_fraction = f" (1/{round(inverse)})" if inverse > 1.5 and abs(inverse - round(inverse)) < 1e-2 * inverse else ""
        text = (
            f"The wrong elements are {_short(ratio)}{as_fraction} times what is expected: is a factor missing or applied twice?"
        )
        return Meaning("factor", text)

    def offset(self) -> Meaning | None:
        difference = (self.actual - self.expected).real
        difference = difference[difference.isfinite()]
        if not difference.numel() or not self._varied():
            return None
        offset = difference.median()
        if not self._explained(self.expected + offset):
            return None
        return Meaning("offset", f"The wrong elements differ from what is expected by {float(offset):+.4g}, all the same.")

    def _varied(self) -> bool:
        """Whether the expected values differ enough that a factor and an offset are not the same thing."""
        return not self._explained(self.expected[:1].expand_as(self.expected), self.expected)


def _short(value: Any) -> str:
    number = value.item()
    return f"{number:.4g}"
