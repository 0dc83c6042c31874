"""A hundred workers at one server: how long moves and answers take, and that none is lost.

    python benchmarks/speed/crowd_load.py [--quick]

Simulated workers, threads of one process, talk to `modicum crowd serve` on loopback over HTTP as browsers do: they open
the page of a task of 20 pictures, send the 20 moves of it, and submit, 10,000 times in all. A request is timed from
sending to the whole answer. Unhurried workers wait 0 to 3 seconds between two tasks, where real ones need a minute or
more; hasty ones wait for nothing, so that the server is never idle, and the time of a request is that of all that wait
before it. Clients and server share the machine. Every acknowledged answer is compared with the database afterwards.
PostgreSQL runs with fsync, as SQLite does.
"""

import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
import databases
from common import Result, arguments
from modicum.crowd import random_plan
from modicum.web.store import Project, work
from people import Person, Server
from projects import pictures

COMMAND = "python benchmarks/speed/crowd_load.py"
UNHURRIED = 3.0  # longest pause, in seconds
N_WORKERS, N_ITEMS, TASK_SIZE = 100, 200, 20


def labour(person, rng, pause, errors):
    """All tasks that there are, one after another."""
    try:
        time.sleep(pause * rng.random())  # people do not come all at once
        person.enter()
        while (task := person.task()) is not None:
            person.sort(task, lambda item: 1 + item["id"] % 3, at_once=TASK_SIZE)
            time.sleep(pause * rng.random())
    except Exception as error:
        errors.append(repr(error))


def run(kind, where, n_answers, pause):
    """One load on a new project."""
    project = Project.create(where, pictures(N_ITEMS), title="Load", instruction="Sort.")
    n_tasks = n_answers // N_WORKERS
    project.add_plan(
        random_plan(project.item_names(), TASK_SIZE, n_tasks * TASK_SIZE / N_ITEMS, random_state=0), N_WORKERS
    )
    codes = [row.code for row in project.invite_some(N_WORKERS)]
    errors = []
    with Server(where) as server:
        people = [Person(server.url, code) for code in codes]
        streams = np.random.default_rng(0).spawn(N_WORKERS)
        threads = [
            threading.Thread(target=labour, args=(person, rng, pause, errors))
            for person, rng in zip(people, streams, strict=True)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - began
    submitted = {number: groups for person in people for number, groups in person.submitted.items()}
    with project.reading() as connection:
        done = work.select(work.work.c.id, work.work.c.groups).where(work.work.c.submitted.is_not(None))
        kept = dict(connection.execute(done).all())
    project.close()
    times = 1000 * np.concatenate([person.seconds for person in people])
    return {
        "database": kind,
        "workers": "hasty" if not pause else "unhurried",
        "answers": len(submitted),
        "lost": sum(kept.get(number) != groups for number, groups in submitted.items()),
        "errors": len(errors),
        "per_second": len(submitted) / seconds,
        **{f"p{share}": float(np.percentile(times, share)) for share in (50, 95, 99)},
        "most": float(times.max()),
        "first_error": errors[0] if errors else None,
    }


def main():
    args = arguments(__doc__)
    result = Result("crowd_load", COMMAND, args)
    n_answers = 1_000 if args.quick else 10_000
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rows.append(run("SQLite", folder / "unhurried.crowd", n_answers, UNHURRIED))
        rows.append(run("SQLite", folder / "hasty.crowd", n_answers, 0.0))
        if databases.find_programs() is None:
            result.note("PostgreSQL is not installed, and was not measured")
        else:
            import psycopg

            (folder / "postgres").mkdir()
            url = stack.enter_context(databases.postgres(folder / "postgres"))
            for name, pause in (("unhurried", UNHURRIED), ("hasty", 0.0)):
                with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}")
                rows.append(run("PostgreSQL", f"{url}/{name}", n_answers, pause))
    columns = [
        ("database", "database", ""),
        ("workers", "100 workers", ""),
        ("answers", "answers", ",d"),
        ("lost", "lost", "d"),
        ("errors", "errors", "d"),
        ("per_second", "answers per second", ".0f"),
        ("p50", "median, ms", ".0f"),
        ("p95", "p95, ms", ".0f"),
        ("p99", "p99, ms", ".0f"),
        ("most", "longest, ms", ".0f"),
    ]
    result.table("requests", columns, rows)
    for row in rows:
        wish = f"{row['database']}, {row['workers']}: {n_answers:,} answers, none lost, p95 below 200 ms"
        told = f"{row['lost']} lost, {row['p95']:.0f} ms"
        result.bar(wish, told, row["answers"] == n_answers and not row["lost"] and row["p95"] < 200)
    result.write()


if __name__ == "__main__":
    main()
