"""Random generators from a `random_state`, and their exact state in files."""

from typing import Any, cast

import numpy as np

from modicum.exceptions import StateError

RandomState = int | np.integer | np.random.Generator | None

_BIT_GENERATORS = {
    cls.__name__: cls
    for cls in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
_BUFFERS = {"MT19937": 624, "Philox": 4}  # numbers that are drawn at a time


def as_generator(random_state: RandomState) -> np.random.Generator:
    """A new generator; from a `Generator` a child is spawned, so that our draws do not advance it."""
    if isinstance(random_state, np.random.Generator):
        return random_state.spawn(1)[0]
    return np.random.default_rng(random_state)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as plain data."""
    return _plain(rng.bit_generator.state)


def restore_generator(state: dict[str, Any]) -> np.random.Generator:
    """The generator that `generator_state` described."""
    try:
        bits = _BIT_GENERATORS[state["bit_generator"]]()
    except KeyError:
        raise StateError(f"unknown random generator {state.get('bit_generator')!r} in the state file.") from None
    bits.state = cast(Any, state)
    position = state["state"].get(
        "pos", state.get("buffer_pos", 0)
    )  # in a buffer that numpy reads without a bounds check
    if _plain(bits.state) != state or not 0 <= position <= _BUFFERS.get(state["bit_generator"], 0):
        raise StateError("the state of a random generator in the file is invalid.")
    return np.random.Generator(bits)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.integer) else value
