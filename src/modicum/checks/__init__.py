"""The learner contract as checks that anyone can run on a learner of their own.

>>> import modicum
>>> modicum.check_learner(modicum.Reservoir(5, random_state=0))

Each check is a function of a learner that raises AssertionError with a sentence. `CHECKS` lists them by family:
input, stream, budget, resume, merge, weights, seed, threads, hostile, vocabulary, prose.
"""

from collections.abc import Callable, Iterator, Sequence

from modicum.checks import budget, data, hostile, merge, prose, resume, seed, streams, threads, vocabulary, weights
from modicum.contract.learner import Learner

CHECKS: dict[str, Sequence[Callable[[Learner], None]]] = {
    "input": data.CHECKS,
    "stream": streams.CHECKS,
    "budget": budget.CHECKS,
    "resume": resume.CHECKS,
    "merge": merge.CHECKS,
    "weights": weights.CHECKS,
    "seed": seed.CHECKS,
    "threads": threads.CHECKS,
    "hostile": hostile.CHECKS,
    "vocabulary": vocabulary.CHECKS,
    "prose": prose.CHECKS,
}


def checks_for(learner: Learner) -> Iterator[tuple[str, Callable[[Learner], None]]]:
    """(name, check) of every check that the learner's traits call for."""
    for family, checks in CHECKS.items():
        for check in checks:
            applies = getattr(check, "applies", None)
            if applies is None or applies(learner.traits):
                yield f"{family}/{check.__name__}", check


def check_learner(learner: Learner) -> None:
    """Run every check on clones of `learner`; the first broken promise is an AssertionError that names it."""
    for name, check in checks_for(learner):
        try:
            check(learner)
        except Exception as error:
            broken = error if isinstance(error, AssertionError) else repr(error)
            raise AssertionError(f"{type(learner).__name__} breaks {name}: {broken}") from error
