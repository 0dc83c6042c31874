"""Columns of dates and times: time of day and day of week as points of a circle, and the trend."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import combined, is_text
from modicum.pipeline.columns.column import Column, Settings
from modicum.pipeline.columns.number import TAIL, hardened, robust_moments, softened
from modicum.rules.invariants import Real
from modicum.rules.params import TRUTH

DAY, WEEK = 86_400e6, 7 * 86_400e6  # microseconds
MONDAY = 4 * DAY  # the first one after 1970-01-01, a Thursday
TREND = 2.0  # standard deviations up to which the trend is linear: in a sorted stream, all later rows are beyond
NEVER = np.iinfo(np.int64).min
FORMATS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d")


class Time(Column):
    """Sine and cosine of the time of day and of the day of the week, and the standardized time itself."""

    kind, plural = "time", "times"
    _invariants = {"center": Real(), "scale": Real(above=0.0), "has_time_of_day": TRUTH, "low": Real(), "high": Real()}

    def __init__(self, name: str, values: np.ndarray):
        known = values[values != NEVER].astype(np.float64)
        super().__init__(name, has_flag=len(known) < len(values))
        low, high = np.quantile(known, [TAIL, 1 - TAIL]) if len(known) else (0.0, 0.0)
        self.low, self.high = float(low), float(high)
        self.center, self.scale = robust_moments(known, self.low, self.high)
        self.has_time_of_day = bool((known % DAY != 0).any())

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Time":
        return cls(name, as_microseconds(cells))

    @property
    def own_names(self) -> list[str]:
        cycles = [*(["time of day"] if self.has_time_of_day else []), "day of week"]
        return [*(f"{self.name} {cycle} {part}" for cycle in cycles for part in ("sin", "cos")), f"{self.name} trend"]

    def parse(self, cells: Any) -> np.ndarray:
        return as_microseconds(cells)

    def missing(self, values: np.ndarray) -> np.ndarray:
        return values == NEVER

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        gone = self.missing(values)
        moments = np.where(gone, 0, values).astype(np.float64)
        turns = [*([moments / DAY] if self.has_time_of_day else []), (moments - MONDAY) / WEEK]
        for i, turn in enumerate(turns):
            angle = (2 * np.pi * (turn - np.floor(turn))).astype(out.dtype)
            out[:, 2 * i], out[:, 2 * i + 1] = np.sin(angle), np.cos(angle)
        out[:, -1] = softened((moments - self.center) / self.scale, TREND)
        out[gone] = 0.0

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        moments = hardened(numbers[:, -1], TREND) * self.scale + self.center
        return np.clip(moments, -6e16, 6e16).astype(np.int64).astype("datetime64[us]")

    def unlike(self, values: np.ndarray) -> int:
        return 0  # time goes on

    def describe(self) -> str:
        parts = f"{'time of day, ' if self.has_time_of_day else ''}day of week, trend"
        return f"{parts}{'; missing values with a flag' if self.has_flag else ''}"


def as_microseconds(cells: Any) -> np.ndarray:
    """Microseconds since 1970, in local time if there is a time zone; a ValueError if there are other cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = combined(cells)
    if hasattr(cells, "dictionary_decode"):
        cells = cells.dictionary_decode()
    if is_text(cells.type):
        cells = parse_times(cells)
        if cells is None:
            raise ValueError("there are cells that are no dates or times such as 2024-12-31 or 2024-12-31 23:59:00")
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):  # seconds since 1970
        cells = pc.multiply(cells.cast(pa.float64()), 1e6).cast(pa.int64(), safe=False).cast(pa.timestamp("us"))
    if pa.types.is_time(cells.type):
        cells = cells.cast(pa.time64("us")).cast(pa.int64()).cast(pa.timestamp("us"))
    if not (pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type)):
        raise ValueError(f"{cells.type} cells are no times")
    if pa.types.is_timestamp(cells.type) and cells.type.tz is not None:
        cells = pc.local_timestamp(cells)
    moments = cells.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return pc.fill_null(moments, NEVER).to_numpy(zero_copy_only=False)


def parse_times(cells: Any) -> Any:
    """Text cells as timestamps; None if some are not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    text = pc.if_else(pc.equal(text, ""), None, text)
    for kind in FORMATS:
        parsed = pc.strptime(text, format=kind, unit="us", error_is_null=True)
        if parsed.null_count == text.null_count:
            return parsed
    try:
        return text.cast(pa.timestamp("us"))
    except pa.ArrowException:
        return None
