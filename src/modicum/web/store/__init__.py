"""Projects of crowd clustering in a database: items, tasks, workers, what they do, and what was learned of it."""

from modicum.web.store.project import Project

__all__ = ["Project"]
