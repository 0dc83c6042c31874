"""`modicum crowd import ANSWERS`: answers that were gathered elsewhere, into a project."""

from typing import Any

from modicum.cli import options as o
from modicum.cli.crowd_fit import Map
from modicum.cli.crowd_project import ProjectOption, open_project
from modicum.cli.printing import in_shell_words, say
from modicum.cli.sources import Source, TextReading, as_paths
from modicum.crowd.reading import as_answers
from modicum.plot.formatting import plural


def import_(answers: Source, columns: Map = None, project: ProjectOption = None, **given: Any) -> None:
    """Add answers that were gathered elsewhere to a project.

    A row of ANSWERS says that a worker, in a task, put an item in a group: columns worker, task, item and group; result
    files of Mechanical Turk are read with --columns. Items have the names that they have in the project. Answers that
    the project has already are not added again.
    """
    reading = TextReading.take_from(given).text_options()
    with open_project(project).closing() as its:
        found = as_answers(as_paths(answers), columns, **reading)
        for note in found.notes:
            say(in_shell_words(note))
        n_new, n_known = its.add_answers(found)
        known = f"; {plural(n_known, 'answer')} that it had already" if n_known else ""
        say(f"{plural(n_new, 'answer')} added to {its.name}{known}")


command = o.with_options(import_, TextReading.options())
