"""What was forgotten, in words."""

from collections.abc import Sequence

from modicum.drift.adwin import Change

MOST_NAMED = 8


def half_life_in_words(half_life: int | str) -> str:
    """How what was learned loses weight.

    >>> half_life_in_words(1000), half_life_in_words("auto")
    ('1,000 rows', 'auto: what was learned loses its weight where the stream changes')
    """
    if isinstance(half_life, str):
        return f"{half_life}: what was learned loses its weight where the stream changes"
    return f"{half_life:,} rows"


def changes_in_words(changes: Sequence[Change]) -> str:
    """Where the stream changed, the latest changes if there were many.

    >>> changes_in_words([Change(4100, 4003, 0.2)]), changes_in_words([])
    ('at about row 4,003', 'none found')
    """
    if not changes:
        return "none found"
    latest = changes[-MOST_NAMED:]
    rows = ", ".join(f"{change.since:,}" for change in latest)
    earlier = f", and {len(changes) - len(latest)} before" if len(changes) > len(latest) else ""
    return f"at about row {rows}{earlier}"
