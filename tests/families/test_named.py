"""Families by name."""

import pytest

from families.cases import GIVEN, NAMES
from modicum.families import as_family


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert as_family(name).name == name
    assert as_family(GIVEN[name]) is GIVEN[name]
