"""The contract as checks that run on any learner.

>>> import modicum
>>> modicum.check_learner(modicum.Reservoir(5, random_state=0))

Each check is a function of a learner that raises an AssertionError with an explanation. `CHECKS` lists them by family:
input, stream, budget, resume, merge, weights, forgetting, seed, threads, hostile, vocabulary, prose.
"""

from collections.abc import Callable, Iterator, Sequence

from modicum.checks import (
    budget,
    data,
    forgetting,
    hostile,
    merge,
    prose,
    resume,
    seed,
    streams,
    threads,
    vocabulary,
    weights,
)
from modicum.contract.learner import Learner

CHECKS: dict[str, Sequence[Callable[[Learner], None]]] = {
    "input": data.CHECKS,
    "stream": streams.CHECKS,
    "budget": budget.CHECKS,
    "resume": resume.CHECKS,
    "merge": merge.CHECKS,
    "weights": weights.CHECKS,
    "forgetting": forgetting.CHECKS,
    "seed": seed.CHECKS,
    "threads": threads.CHECKS,
    "hostile": hostile.CHECKS,
    "vocabulary": vocabulary.CHECKS,
    "prose": prose.CHECKS,
}


def checks_for(learner: Learner) -> Iterator[tuple[str, Callable[[Learner], None]]]:
    """(name, check) of every check that applies to the traits of the learner."""
    for family, checks in CHECKS.items():
        for check in checks:
            applies = getattr(check, "applies", None)
            if applies is None or applies(learner.traits):
                yield f"{family}/{check.__name__}", check


def check_learner(learner: Learner) -> None:
    """Run every check on clones of `learner`; an AssertionError names the first one that fails."""
    for name, check in checks_for(learner):
        try:
            check(learner)
        except Exception as error:
            reason = error if isinstance(error, AssertionError) else repr(error)
            raise AssertionError(f"{type(learner).__name__} fails {name}: {reason}") from error
