"""How many prototypes and validation rows a selector keeps within its budget."""

from bisect import bisect_right
from collections.abc import Callable

from modicum.rules.budget import Budget


def sizes_within(
    budget: Budget,
    held: Callable[[int, int], int],
    *,
    n_prototypes: int | None,
    n_validation: int | None,
    useful: int,
    what: str,
) -> tuple[int, int]:
    """Numbers of prototypes and of validation rows; `held(n, w)` is what both take, in rows or bytes as the budget is.

    `n_prototypes` is None for as many as fit, and `n_validation` for at most `useful` ones: all that fit beside a given
    number of prototypes, otherwise in half of the budget.
    """
    bound = budget.nbytes if budget.rows is None else budget.rows
    if bound is None:
        assert n_prototypes is not None
        return n_prototypes, useful if n_validation is None else n_validation
    fewest = n_prototypes or 1
    least = held(fewest, min(1, useful) if n_validation is None else n_validation)
    if least > bound:
        raise budget.too_small(least, what)
    if n_validation is None:
        share = bound if n_prototypes else bound // 2
        n_validation = max(min(1, useful), _largest(lambda w: held(fewest, w), share, useful))
    return n_prototypes or _largest(lambda n: held(n, n_validation), bound, bound), n_validation


def _largest(cost: Callable[[int], int], bound: int, most: int) -> int:
    """The largest number up to `most` whose cost is within the bound."""
    return bisect_right(range(most + 1), bound, key=cost) - 1
