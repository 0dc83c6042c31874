"""The owner's pages: who may see them, what they show and what they change."""

import html
import io
import json
import re
import sys
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from modicum import CrowdClustering
from modicum.crowd import as_answers, random_plan
from modicum.exceptions import DataError
from modicum.web import refit, showing
from modicum.web.app import make_app
from modicum.web.exports import as_csv, as_json
from modicum.web.findings import findings_of
from modicum.web.planning import plan_tasks
from modicum.web.store import Project, fits
from modicum.web.store.media import text_item
from projects import do_task, pictures

TOKEN = "a-token"
PAGES = (
    "/owner",
    "/owner/map",
    "/owner/clusters",
    "/owner/workers",
    "/owner/workers/1",
    "/owner/fit.json",
    "/owner/progress.json",
)
EVIL = '<script>alert("1")</script>'
HTML = {"accept": "text/html"}


def by_parity(shown):
    return [{"id": k + 1, "name": f"={EVIL}", "items": [item for item in shown if item % 2 == k]} for k in (0, 1)]


@pytest.fixture(scope="module")
def sorted_file(tmp_path_factory):
    """A project that three workers have sorted and that was fitted; one has a name that is no name."""
    path = tmp_path_factory.mktemp("owner") / "sorted.crowd"
    gold = [("picture 1.png", "picture 3.png", True), ("picture 1.png", "picture 2.png", False)]
    items = [*pictures(16), text_item(EVIL, f"A text. {EVIL}"), text_item("b", "</script><!--")]
    made = Project.create(path, items, title=f"T {EVIL}", instruction="Sort.", pairs=gold)
    made.add_plan(random_plan(made.item_names(), 6, 4, random_state=0), 3)
    for person in made.invite(["ann", EVIL, "=1+1"]):
        while do_task(made, person, by_parity, comment=EVIL) is not None:
            pass
    made.invite(["late"])
    answers = made.answers()
    learner = CrowdClustering(2, workers="reliability", n_init=1, random_state=0).fit_groupings(answers)
    with fits.fitting(made, answers.n_answers) as fit:
        fit.finish(learner.to_bytes(), findings_of(learner))
    made.close()
    return path


@pytest.fixture
def copied(sorted_file, tmp_path):
    """A copy of that project, to be changed."""
    path = tmp_path / "copy.crowd"
    path.write_bytes(sorted_file.read_bytes())
    with Project.open(path).closing() as made:
        yield made


@pytest.fixture
def stranger(copied):
    with TestClient(make_app(copied, TOKEN), follow_redirects=False) as client:
        yield client


@pytest.fixture
def owner(stranger):
    answer = stranger.get(f"/owner/enter/{TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/owner")
    return stranger


def csrf(owner):
    return re.search(r'name="csrf" value="([0-9a-f]+)"', owner.get("/owner").text)[1]


def post(owner, path, **fields):
    return owner.post(path, data={"csrf": csrf(owner), **fields})


# ---- who may see them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, "/owner/export/answers.csv", "/owner/enter/b-token", "/owner/enter/é"])
def test_no_page_without_the_token(stranger, path):
    answer = stranger.get(path, headers=HTML)
    assert answer.status_code == 401
    assert EVIL not in answer.text
    assert "ann" not in re.sub(r"<[^>]*>|can't|any", "", answer.text)


def test_a_worker_is_no_owner(stranger, copied):
    stranger.get(f"/w/{copied.invited()[0].code}")
    assert stranger.get("/owner").status_code == 401


CHANGES = {
    "/owner/fit": {},
    "/owner/invite": {"how_many": "2"},
    "/owner/tasks": {"strategy": "random", "task_size": "4", "redundancy": "1", "answers_per_task": "1"},
    "/owner/workers/1/bar": {},
    "/owner/workers/1/admit": {},
}


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("forged", [{}, {"csrf": ""}, {"csrf": "0" * 64}])
def test_forged_changes_are_refused(owner, copied, path, forged):
    before = copied.invited(), fits.latest(copied)
    assert owner.post(path, data=CHANGES[path] | forged).status_code == 401
    assert (copied.invited(), fits.latest(copied)) == before


@pytest.mark.parametrize("path", CHANGES)
def test_changes_without_the_token_are_refused(stranger, path):
    assert stranger.post(path, data=CHANGES[path]).status_code == 401


# ---- what they show --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_pages_escape_what_strangers_wrote(owner, path):
    answer = owner.get(path, headers=HTML)
    assert answer.status_code == 200
    assert EVIL not in answer.text
    assert not re.search(r"\sstyle=|\son\w+=", re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL))


@pytest.mark.parametrize("path", [*PAGES, "/owner/workers/2"])
def test_pages_of_a_new_project(tmp_path, path):
    made = Project.create(tmp_path / "new.crowd", pictures(3), title="New", instruction="")
    with made.closing(), TestClient(make_app(made, TOKEN)) as client:
        client.get(f"/owner/enter/{TOKEN}")
        assert client.get(path).status_code == (404 if "/workers/" in path else 200)


def test_the_overview_tells_how_far_it_is(owner):
    text = owner.get("/owner").text
    assert "100% done" in text
    assert "/owner/export/clusters.parquet" in text


def test_progress_is_told_as_people_sort(owner, copied):
    post(owner, "/owner/tasks", **CHANGES["/owner/tasks"])
    before = owner.get("/owner/progress.json").json()
    do_task(copied, copied.invited()[3], by_parity)
    after = owner.get("/owner/progress.json").json()
    assert (before["left"], after["left"]) == ("5", "4")
    assert int(after["done"]) == int(before["done"]) + 1
    text = owner.get("/owner").text
    for name, value in after.items():
        assert re.search(rf'data-now="{name}"[^>]*(>| width="){value}["<]', text), name


def test_a_fit_is_offered_if_there_is_something_to_learn(owner, copied, tmp_path):
    assert owner.get("/owner/fit.json").json()["news"].startswith("No answer is new since then.")
    post(owner, "/owner/tasks", **CHANGES["/owner/tasks"])
    do_task(copied, copied.invited()[3], by_parity)
    assert owner.get("/owner/fit.json").json()["news"] == "1 answer more since then."
    assert "1 answer more since then." in owner.get("/owner").text
    made = Project.create(tmp_path / "new.crowd", pictures(3), title="New", instruction="")
    with made.closing(), TestClient(make_app(made, TOKEN)) as client:
        client.get(f"/owner/enter/{TOKEN}")
        assert "there is nothing to fit" in client.get("/owner/fit.json").json()["news"]
        assert re.search(r'<button id="fit-now"[^>]* disabled>', client.get("/owner").text)


@pytest.fixture
def few(tmp_path):
    """A project with a fit of two answers."""
    made = Project.create(tmp_path / "few.crowd", pictures(12), title="Few", instruction="")
    made.add_plan(random_plan(made.item_names(), 6, 3, random_state=0), 2)
    made.invite(["ann", "bob"])
    for person in made.invited():
        do_task(made, person, by_parity)
    fit_now(made)
    yield made
    made.close()


def fit_now(project):
    answers = project.answers()
    learner = CrowdClustering(1, workers="reliability", n_init=1, random_state=0).fit_groupings(answers)
    with fits.fitting(project, answers.n_answers) as fit:
        fit.finish(learner.to_bytes(), findings_of(learner))


FITTED = ("/owner", "/owner/map", "/owner/clusters")


def test_a_fit_of_few_answers_is_doubtful(owner, few):
    assert not any("Few answers so far" in owner.get(path).text for path in FITTED)
    with TestClient(make_app(few, TOKEN)) as client:
        client.get(f"/owner/enter/{TOKEN}")
        assert all("the median item had been sorted once" in client.get(path).text for path in FITTED)
        for person in few.invited():
            while do_task(few, person, by_parity) is not None:
                pass
        assert all("Few answers so far" in client.get(path).text for path in FITTED)  # the fit is the same
        fit_now(few)
        assert not any("Few answers so far" in client.get(path).text for path in FITTED)


def test_nothing_is_as_sure_as_it_sounds(owner, copied):
    assert max(item["sure"] for item in fits.findings(copied)["items"]) >= 0.995
    text = owner.get("/owner/clusters").text
    assert '<span class="sure">over 99%</span>' in text
    assert "100%" not in text


def test_imported_answers_are_shown_apart(tmp_path):
    made = Project.create(tmp_path / "elsewhere.crowd", pictures(12), title="", instruction="")
    made.add_plan(random_plan(made.item_names(), 6, 1, random_state=0), 2)
    rows = [(who, task, f"picture {k}.png", str(k % 2)) for who in "abc" for task in "xy" for k in range(1, 7)]
    made.add_answers(as_answers(rows))
    do_task(made, made.invite(["ann", "bob"])[0], by_parity)
    with made.closing(), TestClient(make_app(made, TOKEN)) as client:
        client.get(f"/owner/enter/{TOKEN}")
        text = re.sub(r"<[^>]*>", " ", client.get("/owner").text)
        tiles = {"answers, of 4 wanted": 1, "imported answers, of 3 workers": 6, "workers invited": 2}
        assert all(re.search(rf"{words}\s+{number}\s", text) for words, number in tiles.items())
        assert "25% done" in text
        assert "2 invited; 3 without a link" in client.get("/owner/workers").text


def test_the_map_has_all_items(owner, copied):
    found = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', owner.get("/owner/map").text)
    data = json.loads(found[1])
    assert {item["name"] for item in data["items"]} == set(copied.item_names().tolist())
    shown = [item["thumb"] for item in data["items"] if item["kind"] == "image"]
    assert len(shown) == 16
    assert owner.get(shown[0]).headers["content-type"] == "image/jpeg"


def test_workers_are_shown_with_their_links(owner, copied):
    text = owner.get("/owner/workers").text
    assert all(f"http://testserver/w/{row.code}" in text for row in copied.invited())


def shown_workers(owner, path="/owner/workers"):
    text = owner.get(path).text
    return [int(found) for found in re.findall(r'<th scope="row"><a href="/owner/workers/(\d+)"', text)]


def test_workers_who_matter_come_first(owner, copied):
    slow, *_ = copied.invite(["slow", "yan", "zoe"])
    copied.add_plan(random_plan(copied.item_names(), 6, 1, random_state=1), 2)
    while do_task(copied, slow, by_parity, seconds=5_000) is not None:
        pass
    do_task(copied, copied.invited()[3], by_parity)
    assert shown_workers(owner) == [5, 4, 3, 2, 1, 7, 6]  # worth a look, at work, waiting: the last first
    assert shown_workers(owner, "/owner/workers?after=5") == [6, 7, 5, 4, 3, 2, 1]


def test_all_links_can_be_copied_at_any_time(owner, copied):
    copied.bar(2, active=False)
    copied.add_answers(as_answers([("far", "t", f"picture {k}.png", "1") for k in (1, 2)]))
    found = re.search(r'data-copy="([^"]*)">Copy all links<', owner.get("/owner/workers").text)[1]
    links = dict(line.split("\t") for line in html.unescape(found).strip().split("\n"))
    assert links == {row.name: f"http://testserver/w/{row.code}" for row in copied.invited() if row.id in (1, 3, 4)}


def test_many_workers_are_compared_school_by_school():
    few = {"workers": ["ann", "b" * 40], "schools": [0, 0]}
    assert showing.row_labels(few) == [(0.5, "ann"), (1.5, "b" * 16 + "…")]
    many = {"workers": [str(k) for k in range(100)], "schools": [0] * 60 + [1] * 30 + [2] * 3 + [-1] * 7}
    assert showing.row_labels(many) == [(30.0, "School 1"), (75.0, "School 2"), (96.5, "of no school")]


def test_the_page_says_if_some_workers_are_not_compared(owner, copied):
    assert "This compares the" not in owner.get("/owner/workers").text
    found = fits.findings(copied)
    found["workers"] += [found["workers"][0] | {"name": f"more {k}"} for k in range(98)]
    with fits.fitting(copied, 1) as fit:
        fit.finish(b"", found)
    assert "This compares the 3 workers who sorted most, of 101 in the fit." in owner.get("/owner/workers").text


def test_groups_without_a_name_are_numbered(owner, copied):
    post(owner, "/owner/tasks", **CHANGES["/owner/tasks"])
    do_task(copied, copied.invited()[3], lambda shown: [{"id": 1, "name": "", "items": []}, *in_two(shown)])
    assert re.findall(r"<h3[^>]*>([^<]*)</h3>", owner.get("/owner/workers/4").text) == ["Group 2", "odd", "Left out"]


def in_two(shown):
    return [{"id": 2, "name": "", "items": shown[:2]}, {"id": 3, "name": "odd", "items": shown[2:3]}]


def test_a_confusion_matrix_is_a_table(owner, copied):
    n = fits.findings(copied)["n_clusters"]
    text = owner.get("/owner/workers/1").text
    assert len(re.findall(r'<td class="shade-\d+">', text)) == n * n


def test_sets_of_clusters_that_are_put_together():
    known = {"kind": "usual", "lumps": [[0, 3], [0, 4], [3, 4], [1, 2]], "splits": [2], "confusion": [[0]] * 5}
    told = [
        "Puts clusters 0, 3 and 4 together.",
        "Puts clusters 1 and 2 together.",
        "Splits cluster 2 into smaller groups.",
    ]
    assert showing.told_of(known) == told
    chain = known | {"lumps": [[0, 1], [1, 2]], "splits": []}
    assert showing.told_of(chain) == ["Puts clusters 0 and 1 together.", "Puts clusters 1 and 2 together."]
    assert showing.told_of(known | {"lumps": [], "splits": []}) == ["Tells all 5 clusters apart, and splits none."]


# ---- what they change ------------------------------------------------------------------------------------


def test_inviting(owner, copied):
    assert post(owner, "/owner/invite", names="zoe\n\n yan \n").headers["location"] == "/owner/workers?after=4"
    assert [row.name for row in copied.invited()[4:]] == ["zoe", "yan"]
    assert "2 workers were invited" in owner.get("/owner/workers?after=4").text
    post(owner, "/owner/invite", how_many="3")
    assert len(copied.invited()) == 9


@pytest.mark.parametrize(
    "fields", [{}, {"how_many": "0"}, {"how_many": "x"}, {"how_many": "9" * 99}, {"names": "a\n" * 501}]
)
def test_invitations_that_make_no_sense(owner, copied, fields):
    assert post(owner, "/owner/invite", **fields).status_code == 422
    assert len(copied.invited()) == 4


@pytest.mark.parametrize("strategy", ["random", "uncertain", "coarse-to-fine"])
def test_more_tasks(owner, copied, strategy):
    fields = CHANGES["/owner/tasks"] | {"strategy": strategy}
    assert post(owner, "/owner/tasks", **fields).headers["location"] == "/owner?planned=5"
    assert "5 tasks were added" in owner.get("/owner?planned=5").text
    with copied.changing() as connection:
        from modicum.web.store import work

        assert work.count_work(connection, 4) == (0, 5)


@pytest.mark.parametrize(
    "wrong",
    [{"strategy": "best"}, {"task_size": "99"}, {"task_size": "1"}, {"redundancy": "0"}, {"answers_per_task": "-1"}],
)
def test_tasks_that_make_no_sense(owner, wrong):
    answer = post(owner, "/owner/tasks", **(CHANGES["/owner/tasks"] | wrong))
    assert answer.status_code == 422
    assert "got" in answer.json()["error"]


def test_strategies_that_need_a_fit(project):
    with pytest.raises(DataError, match="Fit first, or plan at random"):
        plan_tasks(project, "uncertain", 4, 1, 1)


def test_plans_can_be_repeated(project):
    def tasks_of():
        from sqlalchemy import select

        from modicum.web.store.schema import task_items

        with project.reading() as connection:
            return [tuple(row) for row in connection.execute(select(task_items).order_by(*task_items.c))]

    before = len(tasks_of())
    n = plan_tasks(project, "random", 4, 2, 1, random_state=3)
    first = tasks_of()[before:]
    plan_tasks(project, "random", 4, 2, 1, random_state=3)
    assert [(task + n, item) for task, item in first] == tasks_of()[before + len(first) :]


def test_a_barred_worker_is_refused_and_may_be_admitted_again(owner, copied):
    code = copied.invited()[3].code
    assert owner.get(f"/w/{code}").status_code == 303
    post(owner, "/owner/workers/4/bar")
    assert owner.get(f"/w/{code}").status_code == 401
    assert owner.get("/sort").status_code == 401
    assert "is barred" in owner.get("/owner/workers/4").text
    post(owner, "/owner/workers/4/admit")
    assert owner.get(f"/w/{code}").status_code == 303
    assert post(owner, "/owner/workers/99/bar").status_code == 404


# ---- exports ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_exported_answers_are_the_answers(owner, copied, tmp_path, ending):
    answer = owner.get(f"/owner/export/answers.{ending}")
    assert answer.headers["content-disposition"] == f'attachment; filename="answers.{ending}"'
    path = tmp_path / f"answers.{ending}"
    path.write_bytes(answer.content)
    found, expected = as_answers(str(path)), copied.answers()
    assert found.task.tolist() == expected.task.tolist()
    assert found.item.tolist() == expected.item.tolist()
    assert found.group.tolist() == expected.group.tolist()
    named = {name: name for name in expected.worker.tolist()} | ({"=1+1": "'=1+1"} if ending == "csv" else {})
    assert found.worker.tolist() == [named[name] for name in expected.worker.tolist()]


def test_exported_clusters(owner, copied):
    rows = owner.get("/owner/export/clusters.json").json()
    found = {item["name"]: (item["cluster"], item["sure"]) for item in fits.findings(copied)["items"]}
    assert {row["item"]: (row["cluster"], row["probability"]) for row in rows} == found
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(io.BytesIO(owner.get("/owner/export/clusters.parquet").content))
    assert table.to_pylist() == rows


def test_cells_that_are_no_formulas():
    columns = {"a": ["=1", "+1", "-1", "@x", "\t=1", "a=1", ""], "b": [-1, 2.5, 0, 0, 0, 0, 0]}
    lines = as_csv(columns).decode().splitlines()
    assert lines[1:5] == ["'=1,-1", "'+1,2.5", "'-1,0", "'@x,0"]
    assert lines[5:] == ["'\t=1,0", "a=1,0", ",0"]
    assert [row["a"] for row in json.loads(as_json(columns))] == columns["a"]


@pytest.mark.parametrize("path", ["answers.xlsx", "secrets.csv"])
def test_there_is_nothing_else_to_export(owner, path):
    assert owner.get(f"/owner/export/{path}").status_code == 422


# ---- fits ------------------------------------------------------------------------------------------------

FIT = """
import os, sys, time
from modicum.web.store import Project, fits
project = Project.open(os.environ["MODICUM_PROJECT"])
with fits.fitting(project, 7) as fit:
    fit.tell(0.5, "half")
    {then}
project.close()
"""


WAIT_FOR_SIGN = "any(time.sleep(0.02) for _ in iter(lambda: os.path.exists(os.environ['SIGN']), True))"


def child(monkeypatch, then, script=FIT):
    """Let fits be another process, which does `then` when it is half done."""
    monkeypatch.setattr(refit, "COMMAND", (sys.executable, "-c", script.format(then=then)))


def wait(its, done, seconds=120):
    until = time.monotonic() + seconds
    while not done(status := its.status()):
        assert time.monotonic() < until, status
        time.sleep(0.05)
    return status


@pytest.fixture
def its(copied):
    made = refit.Refit(copied)
    yield made
    made.close()


@pytest.mark.slow
def test_a_fit_is_watched_to_its_end(monkeypatch, copied, its, tmp_path):
    child(monkeypatch, WAIT_FOR_SIGN + "; fit.finish(b'', {'n_clusters': 1})")
    monkeypatch.setenv("SIGN", str(tmp_path / "sign"))
    before = its.status()
    assert (before["running"], before["error"], before["fit"]) == (False, None, 1)
    its.start(3)
    with pytest.raises(DataError, match="under way"):
        its.start()
    half = wait(its, lambda now: now["share"] == 0.5)
    assert half["running"]
    assert half["words"] == "half"
    assert half["seconds"] > 0
    (tmp_path / "sign").touch()
    after = wait(its, lambda now: not now["running"])
    assert (after["fit"], after["error"], after["n_answers"]) == (2, None, 7)
    assert after["new_answers"] == copied.answers().n_answers - 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("raise ValueError('no luck')", "no luck"),
        ("print('noise' * 9999); print('out of memory'); sys.stdout.flush(); os._exit(3)", "out of memory"),
        ("os.kill(os.getpid(), 9)", "The process ended with code -9."),
    ],
)
def test_a_fit_that_fails(monkeypatch, its, then, words):
    child(monkeypatch, then)
    its.start()
    after = wait(its, lambda now: not now["running"])
    assert (after["error"], after["fit"]) == (words, 1)
    child(monkeypatch, "fit.finish(b'', {})")
    its.start()  # although the dead one never said that it ended
    assert wait(its, lambda now: not now["running"])["fit"] == 3


@pytest.mark.slow
def test_a_fit_that_does_not_even_start(monkeypatch, its):
    child(monkeypatch, "", script="import sys; sys.exit('no such command')")
    its.start()
    assert wait(its, lambda now: not now["running"])["error"] == "no such command"


def test_the_fit_of_another_process_is_respected(copied, its):
    with fits.fitting(copied, 5) as fit:
        fit.tell(0.25, "elsewhere")
        now = its.status()
        assert (now["running"], now["share"], now["words"]) == (True, 0.25, "elsewhere")
        with pytest.raises(DataError, match="under way"):
            its.start()
        fit.finish(b"", {})
    assert not its.status()["running"]


def test_nothing_to_fit(project):
    with pytest.raises(DataError, match="nobody has submitted"):
        refit.Refit(project).start()


@pytest.mark.slow
def test_closing_ends_the_fit(monkeypatch, copied):
    child(monkeypatch, "time.sleep(600)")
    made = refit.Refit(copied)
    made.start()
    wait(made, lambda now: now["share"] == 0.5)
    made.close()
    assert not made.status()["running"]


@pytest.mark.slow
def test_the_button(monkeypatch, owner):
    child(monkeypatch, "fit.finish(b'', {'workers': [], 'n_clusters': 1})")
    assert post(owner, "/owner/fit", n_clusters="").headers["location"] == "/owner#fit"
    while (now := owner.get("/owner/fit.json").json())["running"]:
        time.sleep(0.05)
    assert now["fit"] == 2
    assert post(owner, "/owner/fit", n_clusters="many").status_code == 422


@pytest.mark.slow
def test_the_real_command(owner, copied):
    assert post(owner, "/owner/fit", n_clusters="2").status_code == 303
    until = time.monotonic() + 120
    while (now := owner.get("/owner/fit.json").json())["running"]:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert (now["error"], now["fit"], now["new_answers"]) == (None, 2, 0)
    assert fits.findings(copied)["n_clusters"] == 2
    assert np.isfinite([item["sure"] for item in fits.findings(copied)["items"]]).all()
