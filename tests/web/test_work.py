"""What workers do, in SQLite and PostgreSQL: tasks are taken once, moves follow each other, answers are final."""

import random
import time

import pytest
from sqlalchemy import insert, select, update

from modicum.exceptions import DataError
from modicum.web.store import work
from modicum.web.store.schema import items, moves, tasks, workers
from modicum.web.store.schema import work as work_table


def in_groups(*groups):
    return [{"id": at, "name": "", "items": list(items)} for at, items in enumerate(groups, 1)]


def move(*groups, seconds=1.0):
    return work.Move(in_groups(*groups), None, seconds)


def back(to):
    return work.Move(None, to, 1.0)


@pytest.fixture
def connection(project):
    with project.changing() as open_connection:
        yield open_connection


@pytest.fixture
def ann(people):
    return people["ann"]


@pytest.fixture
def mine(connection, ann):
    work.take_task(connection, ann.id)
    return work.open_work(connection, ann.id)


class TestTasks:
    def test_a_task_that_somebody_left_is_offered_to_one_other(self, connection, people, mine):
        """Two answers are wanted: ann has left hers a day ago, bob has begun his, so one is missing."""
        own = tasks.c.id == mine.task
        connection.execute(update(tasks).where(~own).values(wanted=0))
        taken = [work.take_task(connection, people[name].id) for name in ("bob", "eve")]
        assert [number is None for number in taken] == [False, True]
        connection.execute(
            update(work_table).where(work_table.c.id == mine.id).values(moved=time.time() - 2 * work.IDLE)
        )
        assert work.take_task(connection, people["eve"].id) is not None
        fourth = connection.execute(
            insert(workers).values(name="kim", active=True, made=0.0).returning(workers.c.id)
        ).scalar_one()
        assert work.take_task(connection, fourth) is None

    def test_workers_do_not_see_names_of_folders(self, connection, ann, mine):
        connection.execute(update(items).where(items.c.id == mine.shown[0]).values(name="tall/green/1.png"))
        assert work.task_page(connection, mine)["items"][0]["name"] == "1.png"

    def test_a_worker_gets_the_task_in_hand_until_it_is_submitted(self, connection, ann):
        first = work.take_task(connection, ann.id)
        assert work.take_task(connection, ann.id) == first
        assert work.count_work(connection, ann.id) == (0, 6)
        shown = work.open_work(connection, ann.id).shown
        work.save_moves(connection, ann.code, first, 1, [move(shown)])
        work.submit(connection, ann.code, first, 1, "", 1.0)
        assert work.count_work(connection, ann.id) == (1, 5)
        assert work.take_task(connection, ann.id) != first

    def test_tasks_are_given_evenly_and_no_more_often_than_wanted(self, connection, people):
        """Two answers are wanted of each of six tasks: twelve in all, four by each of three workers."""
        done = {name: [] for name in people}
        for _ in range(6):
            for name, person in people.items():
                number = work.take_task(connection, person.id)
                if number is None:
                    continue
                mine = work.open_work(connection, person.id)
                done[name].append(mine.task)
                work.save_moves(connection, person.code, number, 1, [move(mine.shown)])
                work.submit(connection, person.code, number, 1, "", 1.0)
        given = [task for found in done.values() for task in found]
        assert sorted(given) == sorted([*range(1, 7)] * 2)
        assert all(len(found) == len(set(found)) for found in done.values())

    def test_the_order_is_shuffled_for_each_worker(self, connection, people):
        orders = set()
        for person, seed in zip(people.values(), range(3), strict=True):
            work.take_task(connection, person.id, random.Random(seed))
            mine = work.open_work(connection, person.id)
            orders.add(tuple(mine.shown))
            there = connection.execute(work.select(work.task_items.c.item).where(work.task_items.c.task == mine.task))
            assert sorted(mine.shown) == sorted(there.scalars())
        assert len(orders) > 1

    def test_a_task_that_was_left_is_offered_to_others(self, connection, people):
        connection.execute(update(tasks).where(tasks.c.id > 1).values(wanted=0))
        connection.execute(update(tasks).where(tasks.c.id == 1).values(wanted=1))
        left = work.take_task(connection, people["ann"].id)
        assert work.take_task(connection, people["bob"].id) is None
        long_ago = time.time() - work.IDLE - 60
        connection.execute(update(work_table).where(work_table.c.id == left).values(moved=long_ago))
        assert work.count_work(connection, people["bob"].id) == (0, 1)
        assert work.take_task(connection, people["bob"].id) is not None
        assert work.open_work(connection, people["ann"].id).id == left, "whoever left it may come back"


class TestMoves:
    def test_a_page_has_all_moves(self, connection, ann, mine):
        a, b, c, _ = mine.shown
        sent = [move([a]), move([a, b]), back(1), move([a], [c]), back(0)]
        assert work.save_moves(connection, ann.code, mine.id, 1, sent) == 5
        page = work.task_page(connection, work.open_work(connection, ann.id))
        first, second, third = (in_groups(*groups) for groups in ([[a]], [[a, b]], [[a], [c]]))
        assert page["moves"] == [{"groups": first}, {"groups": second}, {"to": 1}, {"groups": third}, {"to": 0}]
        assert page["number"] == 5
        assert page["seconds"] == 1.0
        assert [item["id"] for item in page["items"]] == mine.shown

    def test_groups_are_those_of_the_move_that_was_gone_back_to(self, connection, ann, mine):
        a, b, *_ = mine.shown
        for first, sent, groups in (
            (1, [move([a]), back(0), back(1)], in_groups([a])),
            (4, [move([a, b]), back(1), back(4)], in_groups([a, b])),
            (7, [back(0)], []),
        ):
            work.save_moves(connection, ann.code, mine.id, first, sent)
            assert work.open_work(connection, ann.id).groups == groups
        held = select(moves.c.number).where(moves.c.work == mine.id, moves.c.groups.is_not(None))
        assert [n for n in connection.execute(held).scalars() if n not in (1, 4)] == [], "a small request stays small"
        for to in (2, 7, 8, -1):
            with pytest.raises(DataError, match="can't go back"):
                work.save_moves(connection, ann.code, mine.id, 8, [back(to)])

    def test_there_may_be_as_many_groups_as_items(self):
        known = set(range(1, 601))
        assert len(work.checked_groups(in_groups(*([item] for item in known)), known)) == 600
        with pytest.raises(DataError, match="limit is 600"):
            work.checked_groups(in_groups(*([] for _ in range(601))), known)
        with pytest.raises(DataError, match="names of the groups"):
            work.checked_groups([{"id": n, "name": "x" * 100, "items": []} for n in range(1, 60)], known)

    def test_moves_that_are_sent_again_change_nothing(self, connection, ann, mine):
        a, b, _, d = mine.shown
        sent = [move([a]), move([a, b]), back(1)]
        work.save_moves(connection, ann.code, mine.id, 1, sent)
        assert work.save_moves(connection, ann.code, mine.id, 1, sent) == 3
        assert work.save_moves(connection, ann.code, mine.id, 2, [*sent[1:], move([a], [d])]) == 4
        kept = connection.execute(select(moves.c.number).where(moves.c.work == mine.id).order_by(moves.c.number))
        assert list(kept.scalars()) == [1, 2, 3, 4]

    def test_other_moves_under_the_same_numbers_are_a_conflict(self, connection, ann, mine):
        a, b, *_ = mine.shown
        work.save_moves(connection, ann.code, mine.id, 1, [move([a]), move([a, b])])
        for first, sent in ((2, [move([b])]), (1, [back(0)]), (4, [move([a])]), (0, [move([a])])):
            with pytest.raises(work.ConflictError) as error:
                work.save_moves(connection, ann.code, mine.id, first, sent)
            assert error.value.number == 2
            assert not error.value.submitted
        assert work.open_work(connection, ann.id).groups == in_groups([a, b])

    def test_moves_of_another_worker_are_not_found(self, connection, people, mine):
        for code in (people["bob"].code, "", "nonsense"):
            with pytest.raises(work.NotFoundError):
                work.save_moves(connection, code, mine.id, 1, [move(mine.shown)])
            with pytest.raises(work.NotFoundError):
                work.submit(connection, code, mine.id, 0, "", 0.0)

    @pytest.mark.parametrize(
        ("groups", "words"),
        [
            ([{"id": 1, "name": "", "items": [999]}], "not of this task"),
            ([{"id": 0, "name": "", "items": []}], "ids"),
            ([{"id": 1, "name": "", "items": []}, {"id": 1, "name": "", "items": []}], "ids"),
            ([{"id": at + 1, "name": "", "items": []} for at in range(501)], "limit"),
        ],
    )
    def test_forged_groups_are_refused(self, connection, ann, mine, groups, words):
        with pytest.raises(DataError, match=words):
            work.save_moves(connection, ann.code, mine.id, 1, [work.Move(groups, None, 0.0)])
        assert work.open_work(connection, ann.id).number == 0

    def test_an_item_can_not_be_in_two_groups(self, connection, ann, mine):
        a = mine.shown[0]
        for groups in (in_groups([a], [a]), in_groups([a, a])):
            with pytest.raises(DataError, match="two groups"):
                work.save_moves(connection, ann.code, mine.id, 1, [work.Move(groups, None, 0.0)])

    def test_nothing_goes_back_to_what_is_not_there_yet(self, connection, ann, mine):
        for to in (-1, 1, 7):
            with pytest.raises(DataError, match="go back"):
                work.save_moves(connection, ann.code, mine.id, 1, [back(to)])

    def test_odd_names_and_times_are_stored_as_they_can_be(self, connection, ann, mine):
        name = "a\0b" + "x" * 200
        groups = [{"id": 1, "name": name, "items": mine.shown[:2]}]
        sent = [work.Move(groups, None, seconds) for seconds in (float("nan"), -3.0, 1e300)]
        assert work.save_moves(connection, ann.code, mine.id, 1, sent) == 3
        assert work.save_moves(connection, ann.code, mine.id, 1, sent) == 3, "sent again, they are still the same"
        kept = work.open_work(connection, ann.id)
        assert kept.groups[0]["name"] == ("ab" + "x" * 200)[: work.MOST_NAME]
        assert kept.seconds == 0.0

    def test_there_is_an_end_to_moves(self, connection, ann, mine, monkeypatch):
        monkeypatch.setattr(work, "MOST_MOVES", 2)
        with pytest.raises(DataError, match="up to 2 moves"):
            work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown)] * 3)


class TestSubmitting:
    def test_submitting_twice_is_harmless(self, connection, project, ann, mine):
        work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown[:2], mine.shown[2:])])
        work.submit(connection, ann.code, mine.id, 1, "fine", 12.0)
        work.submit(connection, ann.code, mine.id, 1, "again", 13.0)
        row = connection.execute(select(work_table).where(work_table.c.id == mine.id)).one()
        assert (row.comment, row.seconds) == ("fine", 12.0)

    def test_an_answer_is_what_the_browser_shows(self, connection, ann, mine):
        """A submission that was overtaken by moves of another window, or overtook its own, is a conflict."""
        work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown), move(mine.shown[:2])])
        for number in (0, 1, 3):
            with pytest.raises(work.ConflictError):
                work.submit(connection, ann.code, mine.id, number, "", 0.0)

    def test_moves_after_it_are_refused(self, connection, ann, mine):
        work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown)])
        work.submit(connection, ann.code, mine.id, 1, "", 0.0)
        with pytest.raises(work.ConflictError) as error:
            work.save_moves(connection, ann.code, mine.id, 2, [move(mine.shown[:1])])
        assert error.value.submitted
        assert work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown)]) == 1, (
            "but not those that are there"
        )

    def test_an_answer_says_something(self, connection, ann, mine):
        work.save_moves(connection, ann.code, mine.id, 1, [move(mine.shown[:1])])
        with pytest.raises(DataError, match="at least 2 items"):
            work.submit(connection, ann.code, mine.id, 1, "", 0.0)

    def test_barred_workers_can_do_nothing(self, project, people):
        ann = people["ann"]
        with project.changing() as connection:
            number = work.take_task(connection, ann.id)
        project.bar(ann.id, active=False)
        with project.changing() as connection:
            assert work.find_worker(connection, ann.code) is None
            with pytest.raises(work.NotFoundError):
                work.submit(connection, ann.code, number, 0, "", 0.0)
