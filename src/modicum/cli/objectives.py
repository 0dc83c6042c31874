"""What `modicum select` can aim for: each objective with its learner, and the options of all of them on one command."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modicum.base import Learner
from modicum.cli import options as o
from modicum.cli.values import parameter
from modicum.cluster.exemplars import ExemplarClustering
from modicum.select.objectives.named import NAMED
from modicum.select.online_greedy import OnlineGreedy
from modicum.select.stream_greedy import StreamGreedy

COUNT = "n_exemplars"  # the option of -k; other learners have another name for it


@dataclass(frozen=True)
class Aim:
    """A learner and, if it takes any objective, the one it is given."""

    learner: type[Learner]
    objective: type[Any] | None = None

    @property
    def owners(self) -> dict[str, type[Any]]:
        """The class that takes each parameter."""
        parts = [self.learner] if self.objective is None else [self.learner, self.objective]
        owners = {name: cls for cls in parts for name in inspect.signature(cls).parameters}
        return owners if self.objective is None else {name: owners[name] for name in owners if name != "objective"}

    @property
    def count(self) -> str:
        """The parameter that -k stands for."""
        return o.how_many(self.learner)

    def make(self, texts: Mapping[str, str]) -> Learner:
        """The learner from option texts."""
        owners = self.owners
        values = {name: (owners[name], parameter(owners[name], name, text)) for name, text in texts.items()}
        params = {name: value for name, (owner, value) in values.items() if owner is self.learner}
        if self.objective is not None:
            inner = {name: value for name, (owner, value) in values.items() if owner is self.objective}
            params["objective"] = self.objective(**inner)
        return self.learner(**params)


AIMS = {
    "exemplar": Aim(ExemplarClustering),
    "logdet": Aim(OnlineGreedy),
    **{name: Aim(StreamGreedy, objective) for name, objective in NAMED.items() if name != "logdet"},
}


def make_learner(objective: str, texts: Mapping[str, str | None], target: str | None) -> Learner:
    """The learner for an objective, from the options that were given."""
    if objective not in AIMS:
        raise ValueError(f"--objective is one of {', '.join(AIMS)}; got {objective!r}.")
    aim = AIMS[objective]
    if getattr(aim.objective, "needs_targets", False) and target is None:
        raise ValueError(f"--objective {objective} needs --target, the column with the targets.")
    given = {name: text for name, text in texts.items() if text is not None}
    known = aim.owners
    if COUNT in given and aim.count != COUNT:
        count = given.pop(COUNT)
        if given.setdefault(aim.count, count) is not count:
            raise ValueError(f"--objective {objective} takes -k, the number of rows, or {_flag(aim.count)}; not both.")
    for name in given:
        if name not in known:
            flags = ", ".join(_flag(name) for name in known)
            raise ValueError(f"{_flag(name)} is not for --objective {objective}, which takes {flags}.")
    return aim.make(given)


def all_options() -> list[inspect.Parameter]:
    """The options of all objectives. None is given by default, so that one can tell what was."""
    names = dict.fromkeys(name for aim in AIMS.values() for name in aim.owners)
    return [o.option(name, _help(name), None, short=name == COUNT) for name in names]


def _help(name: str) -> str:
    """What an option means for each objective that has it, in as few words as they agree on."""
    if name == COUNT:
        defaults = {objective: o.default_text(aim.learner, aim.count) for objective, aim in AIMS.items()}
        return f"How many rows to choose ({', '.join(f'{objective} {n}' for objective, n in defaults.items())})."
    takers = {objective: aim.owners[name] for objective, aim in AIMS.items() if name in aim.owners}
    groups: dict[str, list[str]] = {}
    for objective, owner in takers.items():
        groups.setdefault(_meaning(owner, name), []).append(objective)
    if len(groups) == 1 and len(takers) == len(AIMS):
        return next(iter(groups))
    return " ".join(f"[{', '.join(who)}] {meaning}" for meaning, who in groups.items())


def _meaning(owner: type[Any], name: str) -> str:
    default = o.default_text(owner, name)
    return f"{o.parameter_help(owner).get(name, '')}{'' if default is None else f' ({default})'}".strip()


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
