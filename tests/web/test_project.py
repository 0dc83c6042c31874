"""Projects in SQLite and PostgreSQL: items in, plans, workers, answers in and out."""

import os
import stat
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from modicum.crowd import Answers, as_answers, random_plan
from modicum.exceptions import DataError
from modicum.web import planning
from modicum.web.exports import as_csv
from modicum.web.store import Project
from modicum.web.store.database import DatabaseError
from modicum.web.store.media import file_item, text_item
from modicum.web.store.project import as_gold
from modicum.web.store.schema import project as project_table
from modicum.web.store.schema import task_items, tasks, workers
from projects import do_task, pictures

FACTS = {"title": "Pictures", "instruction": "Sort them."}


def sort_all(project, person):
    """Do one task: two items in one group, a third one alone, others left out."""
    return do_task(
        project,
        person,
        lambda shown: [{"id": 1, "name": "first", "items": shown[:2]}, {"id": 2, "name": "", "items": shown[2:3]}],
    )


class TestMaking:
    def test_a_project_is_opened_again(self, project, where):
        with Project.open(where).closing() as again:
            assert again.facts() == project.facts()
            assert again.item_names().tolist() == [f"picture {n}.png" for n in range(1, 13)]

    def test_who_reads_sees_one_state_whatever_others_change(self, project):
        names = select(workers.c.name)
        with project.reading() as connection:
            before = connection.execute(names).all()
            project.invite(["somebody new"])
            assert connection.execute(names).all() == before
        with project.reading() as connection:
            assert len(connection.execute(names).all()) == len(before) + 1

    def test_a_file_is_its_owners_alone(self, tmp_path):
        Project.create(tmp_path / "x", pictures(3), **FACTS).close()
        assert stat.S_IMODE((tmp_path / "x.crowd").stat().st_mode) == 0o600

    def test_nothing_is_overwritten(self, project, where):
        with pytest.raises(DataError, match="already"):
            Project.create(where, pictures(3), **FACTS)
        assert len(project.item_names()) == 12

    def test_what_fails_leaves_nothing_behind(self, where, tmp_path):
        def broken():
            yield from pictures(5)
            raise DataError("the sixth is broken")

        with pytest.raises(DataError, match="the sixth is broken"):
            Project.create(where, broken(), **FACTS)
        assert not list(tmp_path.glob("project*"))
        Project.create(where, pictures(3), **FACTS).close()

    @pytest.mark.parametrize(("items", "words"), [([*pictures(2)] * 2, "two items"), (pictures(2), "at least 3")])
    def test_items_must_differ_and_be_some(self, tmp_path, items, words):
        with pytest.raises(DataError, match=words):
            Project.create(tmp_path / "x", items, **FACTS)

    @pytest.mark.parametrize(("name", "length"), [("title", 201), ("instruction", 501), ("details", 20_001)])
    def test_long_texts_are_refused(self, tmp_path, name, length):
        with pytest.raises(DataError, match=rf"{name} has .* letters"):
            Project.create(tmp_path / "x", pictures(3), **{**FACTS, name: "x" * length})

    def test_other_files_are_no_projects(self, tmp_path):
        import sqlite3

        with pytest.raises(DataError, match="no project"):
            Project.open(tmp_path / "none")
        (tmp_path / "text.crowd").write_text("hello")
        with pytest.raises(DataError, match="not a project"):
            Project.open(tmp_path / "text.crowd")
        sqlite3.connect(tmp_path / "other.crowd").execute("CREATE TABLE x (y)").connection.close()
        before = (tmp_path / "other.crowd").read_bytes()
        with pytest.raises(DataError, match="is not a project"):
            Project.open(tmp_path / "other.crowd")
        assert (tmp_path / "other.crowd").read_bytes() == before, "it may be the database of another program"

    def test_a_damaged_file_is_an_error_in_one_line(self, tmp_path):
        with Project.create(tmp_path / "x", pictures(30), **FACTS).closing() as made:
            file = made.file
        body = bytearray(file.read_bytes())
        body[4096:] = os.urandom(len(body) - 4096)
        file.write_bytes(body)
        with pytest.raises(DatabaseError, match="does not work"):
            Project.open(file).facts()

    def test_projects_of_newer_versions_are_refused(self, project, where):
        with project.changing() as connection:
            connection.execute(update(project_table).values(format=99))
        with pytest.raises(DataError, match="newer version"):
            Project.open(where)

    @pytest.mark.parametrize(
        "url",
        ["mysql://localhost/x", "http://localhost/x", "postgresql://nobody@127.0.0.1:1/none", "postgresql://[::1"],
    )
    def test_databases_that_can_not_be(self, url):
        with pytest.raises(DataError):
            Project.open(url)

    def test_passwords_are_not_told(self):
        with pytest.raises(DataError) as error:
            Project.open("postgresql://me:secret@127.0.0.1:1/none")
        assert "secret" not in str(error.value)


class TestTasks:
    def test_tasks_of_later_rounds_have_other_names(self, project):
        project.add_plan(random_plan(project.item_names(), 3, 1, random_state=1))
        with project.reading() as connection:
            names = list(connection.execute(select(tasks.c.name)).scalars())
        assert sorted(map(int, names)) == list(range(1, 11))

    def test_every_task_has_a_known_pair(self, where):
        pairs = [("picture 1.png", "picture 3.png", True), ("picture 1.png", "picture 2.png", False)]
        with Project.create(where, pictures(12), pairs=pairs, **FACTS).closing() as made:
            made.add_plan(random_plan(made.item_names(), 4, 3, random_state=0))
            with made.reading() as connection:
                for task in connection.execute(select(tasks.c.id)).scalars().all():
                    shown = set(
                        connection.execute(select(task_items.c.item).where(task_items.c.task == task)).scalars()
                    )
                    assert {1, 3} <= shown or {1, 2} <= shown
                    assert 4 <= len(shown) <= 6

    @pytest.mark.parametrize(
        ("a", "b", "same", "words"),
        [("x", "x", "same", "two items"), ("x", "y", "perhaps", "perhaps"), ("x", "y", "", "same or different")],
    )
    def test_known_pairs_that_are_none(self, a, b, same, words):
        with pytest.raises(DataError, match=words):
            as_gold({"a": [a], "b": [b], "same": [same]})

    def test_known_pairs_are_of_items(self, tmp_path):
        with pytest.raises(DataError, match="no item 'nothing'"):
            Project.create(tmp_path / "x", pictures(3), pairs=[("nothing", "picture 1.png", True)], **FACTS)

    @pytest.mark.parametrize("wanted", [0, -1, 1_001])
    def test_wanted_answers_have_limits(self, project, wanted):
        with pytest.raises(DataError, match="from 1 to"):
            project.add_plan(random_plan(project.item_names(), 4, 1), wanted)


class TestWorkers:
    def test_everybody_has_a_code_and_keeps_it(self, project):
        before = {row.name: row.code for row in project.invited()}
        again = {row.name: row.code for row in project.invite(["ann", "zoe", "zoe", " bob "])}
        assert again["ann"] == before["ann"]
        assert again["bob"] == before["bob"]
        assert set(again) == {"ann", "zoe", "bob"}
        assert len({row.code for row in project.invited()}) == 4

    def test_numbered_workers_do_not_take_names(self, project):
        project.invite(["worker 2"])
        assert [row.name for row in project.invite_some(3)] == ["worker 1", "worker 3", "worker 4"]

    @pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x00b", "\x1b[31m"])
    def test_names_that_are_none(self, project, name):
        with pytest.raises(DataError, match="name of a worker"):
            project.invite([name])


class TestAnswers:
    def test_answers_are_what_was_submitted(self, project, people):
        mine = sort_all(project, people["ann"])
        answers = project.answers()
        names = project.item_names()
        assert set(answers.worker.tolist()) == {"ann"}
        assert answers.item.tolist() == [names[item - 1] for item in mine.shown[:3]]
        assert answers.group.tolist() == ["1", "1", "2"]
        assert answers.notes == ("1 times an item was left out of all groups",)

    def test_without_answers_there_is_an_error(self, project):
        with pytest.raises(DataError, match="nobody has submitted"):
            project.answers()

    def test_exported_answers_are_read_and_imported_again(self, project, people, tmp_path):
        for name in ("ann", "bob", "ann"):
            sort_all(project, people[name])
        rows = project.answer_rows()
        assert all(datetime.fromisoformat(at).tzinfo is UTC for at in rows["at"])
        read = as_answers(rows)
        assert read.n_answers == 3
        assert project.add_answers(read) == (0, 3)
        with Project.create(tmp_path / "copy", pictures(12), **FACTS).closing() as copy:
            assert copy.add_answers(read) == (3, 0)
            assert copy.add_answers(read) == (0, 3)
            ours, theirs = project.answers().pairs(), copy.answers().pairs()
            assert sorted(zip(ours.first, ours.second, ours.label, strict=True)) == sorted(
                zip(theirs.first, theirs.second, theirs.label, strict=True)
            )

    def test_who_was_barred_is_let_in_by_an_invitation(self, project, people):
        project.bar(people["bob"].id, active=False)
        assert project.invite(["bob"])[0].active

    def test_answers_from_elsewhere_to_tasks_of_the_project_are_wanted_no_more(self, project, people):
        mine = sort_all(project, people["ann"])
        rows = {name: [*cells] for name, cells in project.answer_rows().items()}
        rows["worker"] = ["kim"] * len(rows["worker"])
        assert project.add_answers(as_answers(rows)) == (1, 0)
        with project.reading() as connection:
            assert connection.execute(select(tasks.c.taken).where(tasks.c.id == mine.task)).scalar_one() == 2

    def test_texts_like_formulas_survive_a_spreadsheet(self, tmp_path):
        items = [text_item(name, name) for name in ("=1+1", "@home", "'tis")]
        with Project.create(tmp_path / "x", items, **FACTS).closing() as made:
            made.add_plan(random_plan(made.item_names(), 3, 1, random_state=0))
            sort_all(made, made.invite(["+ann"])[0])
            (tmp_path / "answers.csv").write_bytes(as_csv(made.answer_rows()))
            assert "'=1+1" in (tmp_path / "answers.csv").read_text()
            assert made.add_answers(as_answers(tmp_path / "answers.csv")) == (0, 1)

    def test_plans_that_would_lock_the_database_for_long_are_refused(self, project, monkeypatch):
        monkeypatch.setattr(planning, "MOST_SHOWN", 10)
        with pytest.raises(DataError, match="would have 12 items; the limit is 10"):
            planning.plan_tasks(project, "random", 4, 1)

    def test_files_that_are_none_and_names_that_are_no_text(self, tmp_path):
        (tmp_path / "x.mp3").mkdir()
        with pytest.raises(DataError, match="not a file"):
            file_item(tmp_path / "x.mp3", "x.mp3")
        odd = tmp_path / os.fsdecode(b"\xff.png")
        odd.touch()
        with pytest.raises(DataError, match="Rename it"):
            file_item(odd, odd.name)

    def test_nobody_is_no_invitation(self, project):
        with pytest.raises(DataError, match="at least 1 worker"):
            project.invite_some(0)

    def test_answers_from_elsewhere(self, project):
        answers = Answers(
            *map(
                np.array, (["w", "w", "w"], ["1", "1", "1"], [f"picture {n}.png" for n in (1, 6, 11)], ["a", "b", "a"])
            )
        )
        assert project.add_answers(answers) == (1, 0)
        found = project.answers()
        assert found.task.tolist() == ["imported: 1"] * 3, "task 1 of the project has other items"
        assert dict(zip(found.item.tolist(), found.group.tolist(), strict=True)) == {
            "picture 1.png": "1",
            "picture 6.png": "2",
            "picture 11.png": "1",
        }
        with project.reading() as connection:
            assert connection.execute(select(workers.c.code).where(workers.c.name == "w")).scalar_one() is None
        assert project.invite(["w"])[0].code, "who was imported can be invited"

    def test_unknown_items_are_refused_and_nothing_is_added(self, project):
        answers = Answers(*map(np.array, (["w"] * 2, ["1"] * 2, ["picture 1.png", "../../etc/passwd"], ["a", "b"])))
        with pytest.raises(DataError, match="passwd"):
            project.add_answers(answers)
        with pytest.raises(DataError, match="nobody"):
            project.answers()

    def test_another_answer_to_the_same_task_is_refused(self, project):
        def answers(*groups):
            items = [f"picture {n}.png" for n in (1, 6, 11)]
            return Answers(*map(np.array, (["w"] * 3, ["t"] * 3, items, list(groups))))

        project.add_answers(answers("a", "b", "a"))
        assert project.add_answers(answers("x", "y", "x")) == (0, 1), "names of groups do not matter"
        with pytest.raises(DataError, match="another answer"):
            project.add_answers(answers("a", "a", "a"))


def test_a_reader_sees_one_state(project):
    """Whatever others change while it reads."""
    with project.reading() as connection:
        before = len(connection.execute(select(workers)).all())
        project.invite(["zoe"])
        if connection.dialect.name == "sqlite":
            assert len(connection.execute(select(workers)).all()) == before
    with project.reading() as connection:
        assert len(connection.execute(select(workers)).all()) == before + 1


def test_a_change_that_fails_is_not_made(project):
    def change():
        with project.changing() as connection:
            connection.execute(insert(workers).values(name="zoe", active=True, made=0.0))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change()
    assert "zoe" not in {row.name for row in project.invited()}
