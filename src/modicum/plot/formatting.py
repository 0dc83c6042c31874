"""Numbers and texts for people to read."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

UNITS = "[KMGT]iB|bytes?|B|rows|ms|s|min|h|million|billion|trillion|[kMGT]|%"
MOMENT = r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?"
NUMBER = re.compile(rf"{MOMENT}|[<-]?\d[\d,.]*(e[+-]?\d+)?(\s?({UNITS}))?( \d+ (min|s))?|-?inf|nan")
_WORDS = ((1e12, "trillion"), (1e9, "billion"))


def count(value: float) -> str:
    """A count with thousands separators.

    >>> count(10_000_000), count(2.46e9)
    ('10,000,000', '2.46 billion')
    """
    for size, word in _WORDS:
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:,.0f}"


def timestamp(at: float) -> str:
    """A time, in seconds since 1970, as machines read it.

    >>> timestamp(1.5e9)
    '2017-07-14T02:40:00+00:00'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def about(value: float) -> str:
    """An estimated count, to three digits.

    >>> about(123456.7), about(98.4)
    ('123,000', '98')
    """
    return count(_rounded(value, 3))


def short(value: float) -> str:
    """A count, short enough for the axis of a figure.

    >>> short(2_500_000), short(30_000), short(150), short(0.25)
    ('2.5M', '30k', '150', '0.25')
    """
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "")):
        if abs(value) >= size:
            return f"{value / size:.6g}{unit}" if unit else f"{value / 1e3:.6g}k"
    return f"{value:,.6g}"


def measure(value: float) -> str:
    """A measurement to three digits, with an exponent only if it is very small or very large.

    >>> measure(0.41234), measure(1234567.0), measure(1e-7)
    ('0.412', '1,230,000', '1e-07')
    """
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3g}"
    return f"{_rounded(value, 3):,.{_decimals(value, 3)}f}"


def percent(share: float) -> str:
    """A share of a whole.

    >>> percent(0.631), percent(0.0312), percent(0.0004)
    ('63%', '3.1%', '<0.1%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


def rate(share: float) -> str:
    """An accuracy, with enough decimals to tell it from 100%.

    >>> rate(0.934), rate(0.99973), rate(1.0)
    ('93.4%', '99.97%', '100%')
    """
    wrong = 100 * (1 - share)
    return f"{100 * share:.{min(4, max(1, _decimals(wrong, 1)))}f}%" if wrong > 0 else "100%"


def duration(seconds: float) -> str:
    """A duration in suitable units.

    >>> duration(0.0123), duration(9.3), duration(75), duration(7500)
    ('12.3 ms', '9.3 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plural(number: float, noun: str, nouns: str | None = None) -> str:
    """A count and its noun.

    >>> plural(1, "row"), plural(2000, "row"), plural(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{count(number)} {noun if number == 1 else nouns or f'{noun}s'}"


def column(values: Sequence[Any]) -> tuple[list[str], bool]:
    """The cells of a table column, and whether they are numbers (all with the same number of decimals).

    >>> column([1.5, 20.25, None]), column(["a", 3])
    ((['1.50', '20.25', ''], True), (['a', '3'], False))
    """
    numbers = [value for value in values if not _is_missing(value)]
    if not numbers or not all(_is_number(value) for value in numbers):
        return ["" if _is_missing(value) else clipped(_text(value)) for value in values], False
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0)
    if all(float(value).is_integer() for value in numbers) and largest < 1e15:
        form = ".0f"
    else:
        form = f".{_decimals(largest, 4)}f" if 1e-3 <= largest < 1e9 else ".3g"
    return ["" if _is_missing(value) else f"{value:{form}}" for value in values], True


def fewer_digits(text: str) -> str:
    """A text with its long decimals cut to four digits, and arrays without padding.

    >>> fewer_digits("2.0 * RBF([ 1.5, 49.213819197457134])")
    '2.0 * RBF([1.5, 49.21])'
    """
    text = re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", text)
    return re.sub(r"(?<=\[)\s+|(?<=, )\s+", "", text)


def _text(value: Any) -> str:
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | complex)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _decimals(value: float, digits: int) -> int:
    """How many decimals show this many digits of a number."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def is_number_like(text: str) -> bool:
    """Whether a text is a number, perhaps with a unit, that must not be broken into lines.

    >>> [is_number_like(text) for text in ("1,234,567", "-1.5e-07", "64 MiB", "2 h 5 min", "2024-12-31", "3 mice")]
    [True, True, True, True, True, False]
    """
    return NUMBER.fullmatch(text) is not None


def label(text: str, most: int) -> str:
    """A name on one line of at most `most` characters, as it may come from a file.

    >>> label("price\\tin  euros\\x00", 40), label("a name that goes on", 10)
    ('price in euros', 'a name th…')
    """
    readable = "".join(letter if letter.isprintable() else " " for letter in text)
    return clipped(" ".join(readable.split()), most)


def clipped(text: str, most: int = 160) -> str:
    """A text cut to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
