"""Families by name."""

from modicum.families.diagonal_gaussian import DiagonalGaussian
from modicum.families.family import Family
from modicum.families.full_gaussian import FullGaussian
from modicum.families.multinomial import Multinomial
from modicum.rules.params import Constraint, OneOf, Where

FAMILIES: dict[str, type[Family]] = {family.name: family for family in (FullGaussian, DiagonalGaussian, Multinomial)}


def as_family(spec: "str | Family") -> Family:
    """A family given by name, with a default prior, or a `Family`, which is returned unchanged.

    >>> as_family("diagonal").name
    'diagonal'
    """
    return FAMILIES[spec]() if isinstance(spec, str) else spec


FAMILY: list[Constraint] = [OneOf(*FAMILIES), Where(lambda value: isinstance(value, Family), "a Family")]
