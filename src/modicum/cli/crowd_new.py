"""`modicum crowd new PROJECT --items ITEMS`: a project of pictures, texts or sounds for people to sort."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum._optional import require
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.exceptions import DataError
from modicum.plot.formatting import plural

INSTRUCTION = "Put together what belongs together, as you see it. Make as many groups as you like."
SHOWN = 5  # files in one line

Name = Annotated[
    str,
    typer.Argument(
        help="A name, for a file with the ending .crowd; or the URL of an empty PostgreSQL database.",
        show_default=False,
    ),
]
Items = Annotated[
    list[str],
    typer.Option(
        "--items",
        help="What to sort: a folder of pictures or sounds; a table with the columns item and, if not the names are to "
        "be shown, text or file; or a text with an item per line. May be given several times.",
        show_default=False,
    ),
]
Title = Annotated[str | None, typer.Option(help="What workers read at the top. Default: the name of the project.")]
Instruction = Annotated[str, typer.Option(help="One or two sentences that workers always see.")]
Details = Annotated[Path | None, typer.Option(help="A text file with all that workers may want to know.")]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A table of pairs of items that are known, with the columns a, b and same (same or different). Every task "
        "gets one, to see how workers sort it.",
    ),
]
Skip = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out files that can't be read, and list them.")]


def command(
    project: Name,
    items: Items,
    title: Title = None,
    instruction: Instruction = INSTRUCTION,
    details: Details = None,
    gold: Gold = None,
    skip_bad_rows: Skip = False,
) -> None:
    """Make a project of items for people to sort.

    All that belongs to it is in one file, or in one database: copies of the items in the sizes that pages show, tasks,
    workers, answers, and what is learned of them. Next: crowd plan makes tasks, crowd serve shows the pages.
    """
    require("sqlalchemy", "projects")
    from modicum.web.store import Project
    from modicum.web.store.project import as_gold
    from modicum.web.store.sources import find_items, read_columns

    found = find_items(items, skip_bad=skip_bad_rows)
    if found.skipped:
        more = len(found.skipped) - SHOWN
        say(f"skipped, no pictures or sounds: {', '.join(found.skipped[:SHOWN])}{f' and {more:,} more' * (more > 0)}")
    pairs = [] if gold is None else as_gold(read_columns(str(gold), ("a", "b", "same")))
    words = "" if details is None else _text(details)
    kinds: Counter[str] = Counter()
    with Progress() as progress:

        def told() -> Iterator[Any]:
            for number, item in enumerate(found, 1):
                kinds[item.kind] += 1
                progress.tell(f"{number:,} of {len(found):,} items", completed=number, total=len(found))
                yield item

        named = title or project.rpartition("/")[2].removesuffix(".crowd")
        facts = {"title": named, "instruction": instruction, "details": words}
        made = Project.create(project, told(), pairs=pairs, **facts)
    for reason in found.left_out:
        say(f"left out: {reason}")
    say(f"{', '.join(plural(n, NAMES[kind]) for kind, n in kinds.items())} to sort; project in {made.name}")
    made.close()


NAMES = {"image": "picture", "text": "text", "audio": "sound"}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--details {path}: can't read it as text: {error}.") from None
