"""What a topic model asks of the ways to learn topics: by clumps, and by sweeps."""

from abc import abstractmethod
from typing import Any, Protocol, Self

import numpy as np

from modicum.clumps.rounds import Rounds
from modicum.rules.budget import Plan
from modicum.state.part import Part
from modicum.topics.settings import Settings
from modicum.topics.topics import Topics


class Snapshot(Protocol):
    """The topics of everything learned so far, those documents included that wait for an epoch to be full."""

    @property
    def topics(self) -> Topics: ...

    @property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids of documents that are held by themselves, and the parameters of their proportions."""

    @property
    def free_energy(self) -> float: ...


class Engine(Part):
    """Topics, and the memory that they were learned from. Settings are those of the model; they are not held here."""

    rounds: Rounds  # of learning

    @classmethod
    @abstractmethod
    def empty(cls, X: Any, settings: Settings) -> Self:
        """An engine that has seen nothing yet, for rows like X."""

    @staticmethod
    @abstractmethod
    def plan(settings: Settings) -> Plan:
        """What is held at most, with as many topics as possible."""

    @property
    @abstractmethod
    def n_documents(self) -> int:
        """Documents learned."""

    @property
    @abstractmethod
    def n_retained(self) -> int:
        """Rows that are held, or clumps instead of them."""

    @abstractmethod
    def learn(self, X: Any, begins: np.ndarray, ids: np.ndarray, rng: np.random.Generator, settings: Settings) -> None:
        """Learn rows; `begins` is True where a document begins, and `ids` has the id of the document of each row."""

    @abstractmethod
    def finish(self, settings: Settings) -> None:
        """Learn from everything that waits for an epoch to be full."""

    @abstractmethod
    def merge(self, other: Self, settings: Settings) -> None:
        """Absorb what another engine learned from other documents."""

    @abstractmethod
    def snapshot(self, settings: Settings) -> Snapshot:
        """What is known now; it must not be used any more once more has been learned."""
