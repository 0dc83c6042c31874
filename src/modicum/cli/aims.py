"""One command for several learners: an option chooses the learner, and the command has the options of all of them."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modicum.cli import options as o
from modicum.cli.grouping import EXPERT, LEARNING
from modicum.cli.values import parameter
from modicum.contract.learner import Learner


@dataclass(frozen=True)
class Aim:
    """A learner and, if it takes any objective, the one it is given."""

    learner: type[Learner]
    objective: type[Any] | None = None

    @property
    def owners(self) -> dict[str, type[Any]]:
        """The class that takes each parameter."""
        classes = [self.learner] if self.objective is None else [self.learner, self.objective]
        owners = {name: cls for cls in classes for name in inspect.signature(cls).parameters}
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


@dataclass(frozen=True)
class Aims:
    """What the option `flag` chooses from. -k, the number of `things`, is the parameter `count` or that of the aim."""

    flag: str
    count: str
    things: str
    by_name: Mapping[str, Aim]

    def make(self, name: str, texts: Mapping[str, str | None]) -> Learner:
        """The learner for an aim, from the options that were given."""
        aim = self[name]
        given = {option: text for option, text in texts.items() if text is not None}
        if self.count in given and aim.count != self.count:
            count = given.pop(self.count)
            if given.setdefault(aim.count, count) is not count:
                words = f"takes -k, the number of {self.things}, or {_flag(aim.count)}; not both."
                raise ValueError(f"{self.flag} {name} {words}")
        for option in given:
            if option not in aim.owners:
                flags = ", ".join(map(_flag, aim.owners))
                raise ValueError(f"{_flag(option)} is not for {self.flag} {name}, which takes {flags}.")
        return aim.make(given)

    def __getitem__(self, name: str) -> Aim:
        if name not in self.by_name:
            raise ValueError(f"{self.flag} is one of {', '.join(self.by_name)}; got {name!r}.")
        return self.by_name[name]

    def options(self) -> list[inspect.Parameter]:
        """The options of all aims. The default of each is None, which shows what was given."""
        names = dict.fromkeys(name for aim in self.by_name.values() for name in aim.owners)
        return [
            o.option(name, self._help(name), None, short=name == self.count, group=self._group(name)) for name in names
        ]

    def _group(self, option: str) -> str:
        """The group of an option in help: basic if it is so for one of the aims."""
        groups = {o.group_in(aim.learner, option) for aim in self.by_name.values() if option in aim.owners}
        return LEARNING if LEARNING in groups else EXPERT

    def _help(self, option: str) -> str:
        """The help text of an option: one meaning if all aims agree, otherwise one per group of aims."""
        if option == self.count:
            defaults = [f"{name} {o.default_text(aim.learner, aim.count)}" for name, aim in self.by_name.items()]
            return f"The number of {self.things} ({', '.join(defaults)})."
        takers = {name: aim.owners[option] for name, aim in self.by_name.items() if option in aim.owners}
        groups: dict[str, list[str]] = {}
        for name, owner in takers.items():
            groups.setdefault(_meaning(owner, option), []).append(name)
        if len(groups) == 1 and len(takers) == len(self.by_name):
            return next(iter(groups))
        return " ".join(f"[{', '.join(who)}] {meaning}" for meaning, who in groups.items())


def _meaning(owner: type[Any], name: str) -> str:
    default = o.default_text(owner, name)
    return f"{o.parameter_help(owner).get(name, '')}{'' if default is None else f' ({default})'}".strip()


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
