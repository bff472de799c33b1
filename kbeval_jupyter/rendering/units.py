"""Numbers as people read them: three significant digits, the unit that fits, thousands separated."""

from __future__ import annotations

import math
from typing import Final

DASH: Final = "\N{EN DASH}"
TIMES: Final = "\N{MULTIPLICATION SIGN}"
_TIME_UNITS = ((1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


def significant(value: float, digits: int = 3) -> str:
    """A plain decimal with ``digits`` significant digits (``1.20``, ``12.0``, ``120``), never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    if rounded != 0 and decimals and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        decimals -= 1  # 9.999 became 10.00
    return f"{rounded:.{decimals}f}"


def time_ms(milliseconds: float | None) -> str:
    """A duration given in milliseconds, in s, ms, µs or ns; a dash where there is none."""
    if milliseconds is None:
        return DASH
    for size, unit in _TIME_UNITS:
        if abs(milliseconds) >= size * 0.9995:
            return f"{significant(milliseconds / size)} {unit}"
    return f"{significant(milliseconds / 1e-6)} ns"


def seconds(value: float | None) -> str:
    """A duration given in seconds; from two minutes on in minutes."""
    if value is None:
        return DASH
    if value >= 120:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest:02d} s"
    return time_ms(value * 1e3)


def size_bytes(count: int | None) -> str:
    """A size in decimal units: ``512 B``, ``1.50 kB``, ``80.0 GB``."""
    if count is None:
        return DASH
    value = float(count)
    for unit in _BYTE_UNITS:
        if value < 999.5 or unit == _BYTE_UNITS[-1]:
            return f"{count} B" if unit == "B" else f"{significant(value)} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def counted(number: int, noun: str) -> str:
    """``1 element``, ``3,201 elements``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(value: float) -> str:
    """A share given in percent; a small one is never shown as zero, nearly all never as all."""
    if 0 < value < 0.01:
        return "< 0.01 %"
    if 99.99 < value < 100:
        return "> 99.99 %"
    return f"{value:.2f}".rstrip("0").rstrip(".") + " %"


def number(value: float | None) -> str:
    """An error or a tolerance: ``0.0123``, ``1.2e-07``; a dash where there is none."""
    if value is None:
        return DASH
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return significant(value).rstrip("0").rstrip(".") if abs(value) < 100 else significant(value)
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent):+03d}"


def ratio(value: float) -> str:
    """A speedup: ``2.31x``; three significant digits."""
    return f"{significant(value)}{TIMES}"
