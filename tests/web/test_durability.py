"""A real server that is killed while workers send: whatever it acknowledged is there."""

import http.client
import os
import shutil
import signal
import threading

import pytest

from modicum.crowd import random_plan
from modicum.web.store import Project, work
from people import Person, Refused, Server
from projects import pictures

pytestmark = pytest.mark.slow
ANSWERS = 10  # before the server is killed
KILLS = int(os.environ.get("MODICUM_KILLS", "3"))  # 20 take minutes


def big_project(where, n_workers, n_tasks):
    made = Project.create(where, pictures(60), title="Load", instruction="Sort.")
    made.add_plan(random_plan(made.item_names(), 10, n_tasks / 6, random_state=0), n_workers)
    return made, made.invite_some(n_workers)


def labour(person, ended, n_done):
    """Work until all is done or the server has gone; unanswered requests are repeated with the next server."""
    try:
        person.enter()
        while not ended.is_set():
            task = person.task()
            if task is None:
                return
            person.sort(task, lambda item: 1 + item["id"] % 3)
            n_done.release()
    except (OSError, http.client.HTTPException):
        return
    except Refused as error:  # a request that was not answered was carried out, and is repeated
        if error.status not in (409, 503):
            raise


def check_kept(project, person):
    """Every acknowledged move and answer is in the database, with its groups."""
    with project.reading() as connection:
        for number, groups in person.submitted.items():
            row = connection.execute(work.select(work.work).where(work.work.c.id == number)).one()
            assert row.submitted is not None
            assert row.groups == groups
        for number, (last, groups) in person.saved.items():
            of_move = (work.moves.c.work == number) & (work.moves.c.number == last)
            assert connection.execute(work.select(work.moves.c.groups).where(of_move)).scalar_one() == groups


def test_what_was_acknowledged_survives(where):
    project, invited = big_project(where, 50, 60)
    everybody, port = [], 0
    for _ in range(KILLS):
        with Server(where, port) as server:
            people, ended, n_done = (
                [Person(server.url, row.code) for row in invited],
                threading.Event(),
                threading.Semaphore(0),
            )
            threads = [threading.Thread(target=labour, args=(person, ended, n_done)) for person in people]
            for thread in threads:
                thread.start()
            for _ in range(ANSWERS):  # so that the load is on when it is killed
                assert n_done.acquire(timeout=120)
            server.kill()
            ended.set()
            for thread in threads:
                thread.join()
            everybody += people
            for person in people:
                person.close()
                check_kept(project, person)
    assert sum(len(person.submitted) for person in everybody) >= ANSWERS * KILLS
    answers = project.answers()
    assert answers.n_answers >= ANSWERS * KILLS
    for person in everybody:
        check_kept(project, person)
    project.close()


def test_a_hundred_workers_at_once(where, tmp_path):
    project, invited = big_project(where, 100, 6)
    project.close()  # the server alone has it open
    with Server(where) as server:
        people = [Person(server.url, row.code) for row in invited]
        threads = [
            threading.Thread(target=labour, args=(each, threading.Event(), threading.Semaphore())) for each in people
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for person in people:
            person.close()
        assert server.stop() in (0, -signal.SIGTERM)
        if project.file is not None:
            alone = shutil.copy(project.file, tmp_path / "copy.crowd")  # a copy of the file is a copy of the project
            with Project.open(alone).closing() as copy:
                assert copy.answers().n_answers == 600
    assert sum(len(person.submitted) for person in people) == 600
    assert project.answers().n_answers == 600
    for person in people:
        check_kept(project, person)
    project.close()
