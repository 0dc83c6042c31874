"""Moves between a browser and the server: those of other windows and projects, and those that are refused."""

import pytest

import people

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

from sqlalchemy import insert, select, update

from modicum.crowd import random_plan
from modicum.web.store import Project
from modicum.web.store import work as working
from modicum.web.store.schema import moves, work
from projects import pictures
from screens import Sorting, expect

pytestmark = pytest.mark.slow
FACTS = {"title": "Pictures", "instruction": "Sort them."}


@pytest.fixture
def sorting(site, windows):
    return Sorting.start(windows.open(site.invite()[1]))


def see_message(sorting, heading):
    """Read the message with this heading; it goes when it is read, and the page is loaded again."""
    message = sorting.page.locator("#message")
    expect(message.locator("h2")).to_have_text(heading)
    with sorting.page.expect_navigation():
        sorting.page.keyboard.press("Enter")
    sorting.see_board()


def test_moves_of_another_window_are_not_taken_for_those_of_a_lost_answer(site, windows, sorting):
    windows.expect_complaint("ERR_FAILED|status of 409")
    page = sorting.page
    page.route("**/moves", lambda route: route.abort())
    sorting.tab_to_board()
    sorting.press("1")
    expect(page.locator("#saved")).to_have_attribute("data-status", "offline")
    second = page.context.new_page()
    second.add_init_script("localStorage.clear()")  # as on another device
    second.goto(f"{site.server.url}/sort")
    other = Sorting(second)
    other.card(5).focus()
    other.press("1")
    other.see_saved()
    page.unroute("**/moves")
    see_message(sorting, "Changed in another window")
    sorting.see([[5]])


def test_moves_are_kept_for_their_project_alone(windows, tmp_path):
    windows.expect_complaint("ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE")
    person, port = windows.person(), 0
    for name, key in (("first", "1"), ("second", None)):
        path = tmp_path / f"{name}.crowd"
        with Project.create(path, pictures(6), **FACTS).closing() as project:
            project.add_plan(random_plan(project.item_names(), 6, 1, random_state=0), 1)
            code = project.invite(["ann"])[0].code
        with people.Server(path, port=port) as server:
            port, page = server.port, person.new_page()
            page.goto(f"{server.url}/w/{code}")
            sorting = Sorting.start(page)
            if key:
                sorting.tab_to_board()
                page.wait_for_load_state("networkidle")
                server.kill()
                sorting.press(key)
                expect(page.locator("#saved")).to_have_attribute("data-status", "offline")
                page.close()
            else:
                sorting.see([])
                sorting.see_saved()


def test_a_move_that_is_refused_does_not_block_those_after_it(site, windows, sorting):
    windows.expect_complaint("status of 422")
    sorting.tab_to_board()
    sorting.press("1")
    sorting.see_saved()
    with site.project.changing() as connection:  # as many moves as a task takes
        own = connection.execute(select(work).where(work.c.id == sorting.work)).one()
        more = range(own.number + 1, working.MOST_MOVES + 1)
        row = {"work": own.id, "back_to": None, "groups": own.groups, "seconds": 1.0, "at": 0.0}
        connection.execute(insert(moves), [row | {"number": number} for number in more])
        connection.execute(update(work).where(work.c.id == own.id).values(number=working.MOST_MOVES))
    sorting.reload()
    sorting.see([[0]])
    sorting.tab_to_board()
    sorting.press("N")
    see_message(sorting, "Not saved")
    sorting.see([[0]])
    sorting.see_saved()


def test_time_goes_on_after_a_reload(site, sorting):
    with site.project.changing() as connection:
        connection.execute(update(work).where(work.c.id == sorting.work).values(seconds=100.0))
    sorting.reload()
    sorting.tab_to_board()
    sorting.press("1")
    sorting.see_saved()
    with site.project.reading() as connection:
        assert connection.execute(select(work.c.seconds).where(work.c.id == sorting.work)).scalar_one() > 100
