"""A browser, people's windows in it, and a project of Greebles that a server shows."""

import itertools

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("fastapi")
pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")

import people
from modicum.crowd import random_plan
from modicum.web.store import Project
from projects import greebles
from screens import Windows, chromium, find_axe, find_chromium

N_ITEMS = 40


class Site:
    """A project, and the server that shows it."""

    def __init__(self, project, server):
        self.project, self.server = project, server
        self._numbers = itertools.count(1)

    def invite(self, name=None):
        """A new worker: name and link."""
        name = name or f"person {next(self._numbers)}"
        return name, f"{self.server.url}/w/{self.project.invite([name])[0].code}"

    def groups(self, worker):
        """What a worker has submitted: groups as sets of names."""
        answers = self.project.answers()
        found = {}
        for who, task, item, group in zip(answers.worker, answers.task, answers.item, answers.group, strict=True):
            if who == worker:
                found.setdefault((str(task), str(group)), set()).add(str(item))
        return {frozenset(group) for group in found.values()}


# Playwright runs an event loop in the main thread; with a browser per session, tests of other folders would run in it.
@pytest.fixture(scope="module")
def browser():
    if find_chromium() is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with chromium() as started:
        yield started


@pytest.fixture
def windows(browser):
    """Windows in which nothing may go wrong: at the end, the browser must have had nothing to complain of."""
    opened = Windows(browser)
    yield opened
    opened.close()
    assert not opened.complaints()


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    if (path := find_axe()) is None:
        pytest.skip("axe-core is not installed: npm install --prefix .venv axe-core")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Make a project of items, with tasks for workers who come, and start a server of it."""
    opened = []

    def start(items, task_size=None, redundancy=2, wanted=1_000, **facts):
        folder = tmp_path_factory.mktemp("site")
        facts = {"title": "Greebles", "instruction": "Put together what belongs together.", **facts}
        project = Project.create(folder / "site.crowd", items, **facts)
        if task_size:
            project.add_plan(random_plan(project.item_names(), task_size, redundancy, random_state=0), wanted)
        opened.append(Site(project, people.Server(folder / "site.crowd")))
        return opened[-1]

    yield start
    for site in opened:
        with site.server:
            site.project.close()


@pytest.fixture(scope="module")
def site(serve):
    """Forty Greebles, and two tasks with all of them for everybody."""
    return serve(greebles(N_ITEMS), N_ITEMS, details="Look at them closely.\n\nThere is no hurry.")
