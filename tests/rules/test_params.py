"""Constraints on parameters."""

import numpy as np

from modicum.rules.params import Int, Number, OneOf


def test_constraints():
    assert Int(1).accepts(np.int64(3))
    assert not Int(1).accepts(True)
    assert not Int(1).accepts(0)
    assert Number(0, 1, open_ends=True).accepts(0.5)
    assert not Number(0, 1, open_ends=True).accepts(1.0)
    assert not Number(0).accepts(np.nan)
    assert str(OneOf("a", "b")) == '"a" or "b"'
