"""Rules that tie the state of exemplar clustering to its parameters."""

from typing import Any

from modicum.cluster.phantoms import MeanPhantom, phantom_class
from modicum.kernels import as_dissimilarity
from modicum.rules.invariants import Is, Scope, Violation


class DissimilarityAsGiven:
    """The rule that the dissimilarity in use is that of the parameters."""

    def check(self, value: Any, scope: Scope) -> None:
        given = as_dissimilarity(scope["dissimilarity"], objects=scope["kind"] == "objects")
        if type(value) is not type(given) or getattr(value, "name", None) != getattr(given, "name", None):
            raise Violation(f"that of the parameters, {scope['dissimilarity']!r}")


class PhantomAsGiven(Is):
    """The rule that the phantom is of the kind that the parameters ask for."""

    def check(self, value: Any, scope: Scope) -> None:
        super().check(value, scope)
        if type(value) is not phantom_class(scope["phantom"]):
            raise Violation(f"that of the parameters, {scope['phantom']!r}")
        if isinstance(value, MeanPhantom) and isinstance(scope.owner._objective.phantom, int | float):
            raise Violation("the mean of rows, which is a row")


class MeansOfDenseRows(Is):
    """The rule that means of clusters are held where they are of use. Swaps that need none may be set later."""

    def check(self, value: Any, scope: Scope) -> None:
        super().check(value, scope)
        if scope["kind"] != "dense" or not scope.owner._means_are_centers():
            raise Violation("absent, as these rows or parameters need no means")


class SizeAsGiven:
    """The rule that the sample has the size asked for; rows that differ in size may have outgrown a budget."""

    def check(self, value: Any, scope: Scope) -> None:
        asked = scope["n_validation"]
        if asked is not None and value != asked and (value > asked or scope["kind"] == "dense"):
            raise Violation(f"the n_validation of the parameters, {asked}; got {value}")
