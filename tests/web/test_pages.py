"""Requests of workers: who may do what, what is refused and how, and that nothing of it changes anything."""

import json
import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from modicum.web.app import make_app
from modicum.web.shield import MOST_BYTES
from modicum.web.store import Project
from modicum.web.store.codes import spaced
from modicum.web.store.schema import moves, work
from projects import do_task, pictures

OWNER = "the-token-of-the-owner"
EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">'


@pytest.fixture
def open_client(project):
    """Browsers without cookies, as many as are asked for."""
    app = make_app(project, OWNER)
    with TestClient(app, follow_redirects=False, headers={"accept": "application/json"}) as first:
        others = []

        def make():
            others.append(TestClient(app, follow_redirects=False, headers={"accept": "application/json"}))
            return others[-1]

        make.first = first
        yield make


@pytest.fixture
def stranger(open_client):
    return open_client.first


@pytest.fixture
def enter(open_client, people):
    def by(name):
        client = open_client()
        assert client.get(f"/w/{people[name].code}").headers["location"] == "/sort"
        return client

    return by


def start(client):
    """Take a task; what its page says."""
    csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/sort").text)[1]
    assert client.post("/sort/start", data={"csrf": csrf}).status_code == 303
    return task_on(client.get("/sort").text)


def task_on(text):
    return json.loads(re.search(r'<script type="application/json" id="task">(.*?)</script>', text, re.DOTALL)[1])


def send(client, task, path, body, **headers):
    return client.post(f"/sort/{task['work']}/{path}", json=body, headers={"x-csrf-token": task["csrf"], **headers})


def one_group(task):
    return [{"id": 1, "name": "all", "items": [item["id"] for item in task["items"]]}]


def saved_in(project):
    with project.reading() as connection:
        return connection.execute(select(moves.c.work, moves.c.number, moves.c.groups)).all()


class TestEntering:
    def test_a_whole_task(self, enter, project):
        ann = enter("ann")
        task = start(ann)
        assert send(
            ann, task, "moves", {"first": 1, "moves": [{"groups": one_group(task), "seconds": 2.5}]}
        ).json() == {"number": 1}
        again = task_on(ann.get("/sort").text)
        assert again["moves"] == [{"groups": one_group(task)}]
        assert send(ann, task, "submit", {"number": 1, "comment": "hm", "seconds": 3.0}).status_code == 200
        assert project.answers().n_answers == 1
        assert 'id="task"' not in ann.get("/sort").text

    def test_by_a_code_as_people_type_it(self, stranger, people):
        typed = f" {spaced(people['bob'].code).lower()} "
        assert stranger.post("/enter", data={"code": typed}).headers["location"] == "/sort"
        assert "Pictures" in stranger.get("/sort").text

    @pytest.mark.parametrize("code", ["", "ABCD-EFGH-JKLM", "x" * 10_000, "'; drop table workers; --", "\0"])
    def test_not_by_another_one(self, stranger, code):
        refused = stranger.post("/enter", data={"code": code}, headers={"accept": "text/html"})
        assert refused.status_code == 401
        assert "not known" in refused.text
        assert not refused.cookies

    def test_cookies_are_out_of_reach_of_scripts_and_other_sites(self, stranger, people):
        cookie = stranger.get(f"/w/{people['ann'].code}").headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert "secure" not in cookie, "on plain HTTP it would not be sent back"

    @pytest.mark.parametrize(
        "path", ["/sort", "/media/" + "0" * 64, "/owner", "/owner/fit.json", "/owner/export/answers.csv"]
    )
    def test_nothing_is_shown_to_strangers(self, stranger, path):
        for client_cookies in ({}, {"modicum_worker": "nonsense", "modicum_owner": "nonsense"}):
            stranger.cookies.update(client_cookies)
            refused = stranger.get(path)
            assert refused.status_code == 401
            assert "picture" not in refused.text.replace("pictures", "")

    def test_workers_are_no_owners(self, enter):
        ann = enter("ann")
        assert ann.get("/owner").status_code == 401
        assert ann.post("/owner/fit").status_code == 401

    def test_who_is_barred_is_out(self, enter, project, people):
        ann = enter("ann")
        task = start(ann)
        project.bar(people["ann"].id, active=False)
        assert ann.get("/sort").status_code == 401
        assert send(ann, task, "moves", {"first": 1, "moves": [{"groups": one_group(task)}]}).status_code == 404
        assert not saved_in(project)


class TestRefusals:
    @pytest.fixture
    def ann(self, enter):
        return enter("ann")

    @pytest.fixture
    def task(self, ann):
        return start(ann)

    def test_another_workers_task(self, enter, task, project):
        bob = enter("bob")
        theirs = start(bob)
        forged = {**task, "csrf": theirs["csrf"]}
        assert send(bob, forged, "moves", {"first": 1, "moves": [{"groups": one_group(task)}]}).status_code == 404
        assert send(bob, forged, "submit", {"number": 0}).status_code == 404
        assert not saved_in(project)

    def test_requests_of_other_sites(self, ann, task, project):
        body = {"first": 1, "moves": [{"groups": one_group(task)}]}
        for headers in (
            {"x-csrf-token": ""},
            {"x-csrf-token": "0" * 64},
            {"sec-fetch-site": "cross-site"},
            {"origin": "https://evil.example"},
            {"origin": "null"},
        ):
            assert send(ann, task, "moves", body, **headers).status_code in (401, 403)
        assert ann.post("/sort/start", data={}).status_code == 401
        assert not saved_in(project)
        assert send(ann, task, "moves", body, **{"sec-fetch-site": "same-origin"}).status_code == 200

    @pytest.mark.parametrize(
        "body",
        [
            {},
            [],
            {"first": 1, "moves": []},
            {"first": "1", "moves": [{"to": 0}]},
            {"first": 1, "moves": [{"groups": [{"id": 1, "name": "", "items": ["1"]}]}]},
            {"first": 1, "moves": [{"groups": [{"id": 1, "items": [1]}]}]},
            {"first": 1, "moves": [{"groups": [{"id": 10**30, "name": "", "items": []}]}]},
            {"first": 1, "moves": [{"groups": [{"id": 1, "name": "", "items": [10**30]}]}]},
            {"first": 1, "moves": [{"groups": [{"id": 1, "name": "", "items": []}], "more": 1}]},
            {"first": 1, "moves": [{"to": 5}]},
            {"first": 1, "moves": [{"to": 0}] * 1_001},
            {"first": 1, "moves": "x"},
        ],
    )
    def test_malformed_moves(self, ann, task, project, body):
        refused = send(ann, task, "moves", body)
        assert refused.status_code == 422
        assert refused.json()["error"]
        assert not saved_in(project)

    def test_bodies_that_are_no_json(self, ann, task, project):
        for body in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
            path, headers = (
                f"/sort/{task['work']}/moves",
                {"x-csrf-token": task["csrf"], "content-type": "application/json"},
            )
            assert ann.post(path, content=body, headers=headers).status_code in (400, 422)
        assert not saved_in(project)

    def test_half_characters(self, ann, task):
        body = json.dumps({"first": 1, "moves": [{"groups": [{"id": 1, "name": "X", "items": []}]}]})
        path, headers = (
            f"/sort/{task['work']}/moves",
            {"x-csrf-token": task["csrf"], "content-type": "application/json"},
        )
        assert ann.post(path, content=body.replace("X", "\\ud800"), headers=headers).status_code in (200, 422)
        assert ann.get("/sort").status_code == 200

    def test_large_bodies(self, ann, task, project):
        path, headers = (
            f"/sort/{task['work']}/moves",
            {"x-csrf-token": task["csrf"], "content-type": "application/json"},
        )
        assert ann.post(path, content=b"x" * (MOST_BYTES + 1), headers=headers).status_code == 413
        pieces = (b"x" * 100_000 for _ in range(20))  # without a length
        assert ann.post(path, content=pieces, headers=headers).status_code == 413

    @pytest.mark.parametrize("number", ["0", "-1", "x", str(2**31), str(2**70), "1%00", "..%2f..%2fetc%2fpasswd"])
    def test_odd_numbers_of_work(self, ann, task, number):
        headers = {"x-csrf-token": task["csrf"]}
        refused = ann.post(f"/sort/{number}/moves", json={"first": 1, "moves": [{"to": 0}]}, headers=headers)
        assert refused.status_code in (404, 405, 422)

    @pytest.mark.parametrize("digest", ["0" * 64, "x", "..%2f..%2fproject.crowd", "%00", "0" * 63 + "G"])
    def test_pictures_that_are_not_there(self, ann, digest):
        assert ann.get(f"/media/{digest}").status_code in (404, 422)

    @pytest.mark.parametrize(
        "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fstore/work.py", "/static/"]
    )
    def test_no_other_files_are_served(self, ann, path):
        assert ann.get(path).status_code == 404

    def test_conflicts_say_what_is_here(self, ann, task):
        sent = {"first": 1, "moves": [{"groups": one_group(task)}]}
        assert send(ann, task, "moves", sent).status_code == 200
        assert send(ann, task, "moves", sent).json() == {"number": 1}
        conflict = send(ann, task, "moves", {"first": 1, "moves": [{"to": 0}]})
        assert conflict.status_code == 409
        assert (conflict.json()["number"], conflict.json()["submitted"]) == (1, False)
        assert send(ann, task, "submit", {"number": 7}).status_code == 409
        assert send(ann, task, "submit", {"number": 1}).status_code == 200
        assert send(ann, task, "submit", {"number": 1, "comment": "again"}).status_code == 200
        late = send(ann, task, "moves", {"first": 2, "moves": [{"to": 0}]})
        assert (late.status_code, late.json()["submitted"]) == (409, True)

    def test_pages_in_words_for_people(self, ann):
        refused = ann.get("/nowhere", headers={"accept": "text/html"})
        assert refused.status_code == 404
        assert "There is no such page" in refused.text


class TestPages:
    def test_pictures_are_cached_forever_and_pages_never(self, enter):
        ann = enter("ann")
        task = start(ann)
        picture = ann.get(task["items"][0]["thumb"])
        assert picture.headers["content-type"] == "image/jpeg"
        assert picture.content[:2] == b"\xff\xd8"
        assert "immutable" in picture.headers["cache-control"]
        assert "private" in picture.headers["cache-control"]
        assert ann.get("/sort").headers["cache-control"] == "no-store"

    def test_headers_shut_out_scripts_of_others(self, stranger):
        for path in ("/", "/nowhere", "/static/base.css", "/owner"):
            headers = stranger.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"

    def test_texts_of_strangers_are_texts(self, where):
        with Project.create(where, pictures(4), title=EVIL, instruction=EVIL, details=EVIL).closing() as project:
            from modicum.crowd import random_plan

            project.add_plan(random_plan(project.item_names(), 4, 1))
            code = project.invite([EVIL])[0].code
            with TestClient(make_app(project, OWNER)) as client:
                pages = [client.get("/").text, client.get(f"/w/{code}").text]
                csrf = re.search(r'name="csrf" value="(\w+)"', pages[1])[1]
                pages.append(client.post("/sort/start", data={"csrf": csrf}).text)
                do_task(
                    project, project.invited()[0], lambda shown: [{"id": 1, "name": EVIL, "items": shown}], comment=EVIL
                )
                client.get(f"/owner/enter/{OWNER}")
                pages += [client.get(path).text for path in ("/owner", "/owner/workers", "/owner/workers/1")]
        assert 'id="task"' in pages[2]
        for text in pages:
            assert "alert(1)" in text or text is pages[0]
            assert "<script>alert" not in text
            assert "<img src=x" not in text


def test_what_fails_in_the_database_is_said_and_nothing_is_lost(enter, project, monkeypatch):
    from modicum.web.store.database import DatabaseError

    ann = enter("ann")
    task = start(ann)
    sent = {"first": 1, "moves": [{"groups": one_group(task)}]}
    with monkeypatch.context() as broken:

        def fail(self):
            raise DatabaseError("the disk is full")

        broken.setattr(Project, "changing", fail)
        refused = send(ann, task, "moves", sent)
        assert refused.status_code == 503
        assert "disk" not in refused.text, "what is wrong with the machine is not for everybody"
    assert send(ann, task, "moves", sent).status_code == 200


def test_a_change_after_which_sqlite_rolled_back_all_loses_no_other(project):
    """As on a full disk: what was acknowledged must be there."""
    import asyncio
    import threading

    from sqlalchemy import insert
    from sqlalchemy.exc import OperationalError

    from modicum.web.store.schema import workers
    from modicum.web.writer import Writer

    def add(connection):
        connection.execute(insert(workers).values(name="kim", active=True, made=0.0))
        return "made"

    def fail(connection):
        connection.exec_driver_sql("ROLLBACK")
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    async def together():
        writer, go = Writer(project), threading.Event()
        waiting = [asyncio.ensure_future(writer(change)) for change in (lambda connection: go.wait(), add, fail, add)]
        go.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        writer.close()
        return [type(each).__name__ for each in found]

    assert asyncio.run(together()) == ["bool", "str", "DatabaseError", "DatabaseError"]
    assert "kim" in [row.name for row in project.invited()]


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-", 206, slice(0, None)),
        ("bytes=2-5", 206, slice(2, 6)),
        ("bytes=5-2", 200, slice(None)),
        ("bytes=-3", 200, slice(None)),
        ("bytes=99999999-", 200, slice(None)),
        ("items=1-2", 200, slice(None)),
    ],
)
def test_sounds_are_read_in_parts(enter, asked, status, part):
    ann = enter("ann")
    where = start(ann)["items"][0]["full"]
    whole = ann.get(where).content
    found = ann.get(where, headers={"range": asked})
    assert (found.status_code, found.content) == (status, whole[part])
    if status == 206:
        first, end, _ = part.indices(len(whole))
        assert found.headers["content-range"] == f"bytes {first}-{end - 1}/{len(whole)}"


def test_odd_headers_and_forms_are_refused_in_words(enter):
    ann = enter("ann")
    for headers in ({"origin": "http://[::1"}, {"origin": "null"}):
        assert ann.post("/sort/start", headers=headers).status_code == 403
    odd = {"content-type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    body = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n\\ud800\r\n--x--\r\n'
    assert ann.post("/sort/start", content=body, headers=odd).status_code in (401, 422)
    task = start(ann)
    wrong = {"first": 1, "moves": [{"groups": [{"id": "x", "name": 1, "items": ["y"] * 50_000}] * 2}] * 2}
    assert send(ann, task, "moves", wrong).json()["error"].startswith("Body.moves.0.groups.0.id")


def test_browsers_keep_scripts_and_ask_if_they_changed(stranger):
    first = stranger.get("/static/sort.js")
    assert first.headers["cache-control"] == "no-cache"
    assert stranger.get("/static/sort.js", headers={"if-none-match": first.headers["etag"]}).status_code == 304


def test_projects_at_one_address_have_cookies_of_their_own(project, people, tmp_path):
    facts = {"title": "Other", "instruction": "Sort them."}
    with Project.create(tmp_path / "other", pictures(4), **facts).closing() as other:
        names = []
        for its, code in ((project, people["ann"].code), (other, other.invite(["ann"])[0].code)):
            with TestClient(make_app(its, OWNER), follow_redirects=False) as client:
                client.get(f"/w/{code}")
                client.get(f"/owner/enter/{OWNER}")
                names += client.cookies.keys()
    assert len(set(names)) == 4


def test_links_are_those_of_the_address_that_people_reach(project):
    app = make_app(project, OWNER, "https://sort.example.org")
    with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
        assert "secure" in client.get(f"/owner/enter/{OWNER}").headers["set-cookie"].lower()
        assert "https://sort.example.org/w/" in client.get("/owner/workers").text


def test_pages_of_errors_say_where_to_go_on(stranger, enter, project, people):
    html = {"accept": "text/html"}
    assert 'href="/"' in stranger.get("/sort", headers=html).text
    ann = enter("ann")
    assert 'href="/sort"' in ann.get("/nowhere", headers=html).text
    assert 'class="button' not in stranger.get("/owner", headers=html).text, "only the link that was printed helps"
    stranger.get(f"/owner/enter/{OWNER}")
    assert 'href="/owner"' in stranger.get("/owner/workers/999", headers=html).text


def test_one_failing_change_does_not_fail_its_neighbours(project):
    """Changes share a transaction, not a fate."""
    import asyncio

    from modicum.web.writer import Writer

    def add(name):
        def change(connection):
            from sqlalchemy import insert

            from modicum.web.store.schema import workers

            connection.execute(insert(workers).values(name=name, active=True, made=0.0))
            return name

        return change

    async def all_at_once():
        writer = Writer(project)
        names = [*(f"w{n}" for n in range(40)), "ann", "w1", *(f"v{n}" for n in range(40))]
        found = await asyncio.gather(*(writer(add(name)) for name in names), return_exceptions=True)
        writer.close()
        return [name if found == name else type(found).__name__ for name, found in zip(names, found, strict=True)]

    found = asyncio.run(all_at_once())
    assert found.count("DatabaseError") == 2, "ann is there already, and w1 twice"
    assert len({row.name for row in project.invited()}) == 3 + 80


def test_moves_and_answers_of_a_task_are_kept_for_good(enter, project):
    ann = enter("ann")
    task = start(ann)
    send(ann, task, "moves", {"first": 1, "moves": [{"groups": one_group(task), "seconds": 1.0}, {"to": 0}, {"to": 1}]})
    send(ann, task, "submit", {"number": 3, "seconds": 4.5})
    with project.reading() as connection:
        row = connection.execute(select(work.c.groups, work.c.seconds, work.c.number)).one()
    assert row == (one_group(task), 4.5, 3)
    assert [number for _, number, _ in saved_in(project)] == [1, 2, 3]
