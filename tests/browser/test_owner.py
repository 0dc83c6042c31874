"""The owner's pages in a real browser, and a whole project: made, planned, sorted by people, fitted and looked at."""

import itertools
import operator
import os
import re
import statistics
import subprocess
import sys

import pytest

import people

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

from modicum.web.store import Project
from modicum.web.store.fits import findings, fitting
from modicum.web.store.media import Item, Media, picture_item, text_item
from projects import KINDS, do_task, greeble, greebles, tone
from screens import Sorting, expect, see_no_barriers

pytestmark = pytest.mark.slow
PAGES = ("/owner", "/owner/map", "/owner/clusters", "/owner/workers", "/owner/workers/1")
EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>{{7*7}}"
WORDS = ["snow", "rain", "hail", "fog", "frost", "MUMMY WOMBAT WWW WWW", "wind", EVIL]


def by_attribute(which):
    """Groups of ids of Greebles by height, colour or dots."""

    def groups(shown):
        sides = [[item for item in shown if KINDS[(item - 1) % 8][which] == side] for side in (-1, 1)]
        return [{"id": number, "name": "", "items": side} for number, side in enumerate(sides, 1) if side]

    return groups


def modicum(*arguments, project=None):
    """Run a command; what it printed."""
    environment = os.environ | ({"MODICUM_PROJECT": str(project)} if project else {})
    command = [sys.executable, "-m", "modicum", "crowd", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def watch(windows, site):
    """The owner's page, which asks for news ten times as often as it does for people."""
    person = windows.person()
    person.add_init_script("{ const later = setTimeout; window.setTimeout = (act, ms = 0) => later(act, ms / 10); }")
    page = person.new_page()
    page.goto(site.server.owner_link)
    return page


def press_fit(page):
    """Press Fit, and wait until the page says that it has begun, or has ended already."""
    page.locator("#fit form button").click()
    expect(page.locator("#fit-busy:visible, #fit-links").first).to_be_visible()


def see_fitted(page):
    """Wait until the page loads itself again, with what the fit found."""
    expect(page.locator("#fit-links")).to_be_visible(timeout=people.PATIENCE * 1_000)
    expect(page.locator("#fit-busy")).to_be_hidden()
    expect(page.locator("#fit-error")).to_be_hidden()


@pytest.fixture(scope="module")
def fitted(serve):
    """Pictures, texts and sounds that nine people have sorted, some of whose names are HTML, with a fit."""
    items = [
        *greebles(15),
        picture_item(greeble(15), f"{EVIL}.png", EVIL),
        *(text_item(f"text {number}", text) for number, text in enumerate(WORDS, 1)),
        *(Item(f"tone {n} {EVIL}", "audio", EVIL, full=Media("audio/wav", tone(110 * n))) for n in range(1, 9)),
    ]
    site = serve(items, 16, redundancy=3, wanted=9, title=EVIL)
    for number, person in enumerate(site.project.invite([f"ann {EVIL}", *"bcdefghi"])):
        while do_task(site.project, person, by_attribute(number % 3), comment=EVIL):
            pass
    modicum("fit", project=site.project.file)
    return site


# ---- entering ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*PAGES, "/owner/fit.json", "/owner/progress.json", "/owner/export/answers.csv", "/owner/enter/wrong"]
)
def test_no_page_of_the_owner_is_shown_to_others(fitted, windows, path):
    windows.expect_complaint("status of 401")
    for link in ("/", f"/w/{fitted.project.invited()[1].code}"):  # a stranger, and a worker
        page = windows.open(fitted.server.url + link)
        answer = page.goto(fitted.server.url + path)
        assert answer.status == 401
        assert "text 1" not in page.content()


def test_the_printed_link_opens_all_pages(fitted, windows):
    page = windows.open(fitted.server.owner_link)
    assert page.url == f"{fitted.server.url}/owner"  # the secret is not in the address any more
    for path in PAGES:
        assert page.goto(fitted.server.url + path).status == 200


# ---- a project that grows ----------------------------------------------------------------------------------


@pytest.fixture
def visitors():
    """Connections that are closed at the end."""
    opened = []
    yield opened
    for each in opened:
        each.close()


def test_an_owner_invites_adds_tasks_watches_and_fits(serve, windows, visitors):
    site = serve(greebles(24))
    page = windows.open(site.server.owner_link)
    expect(page.locator(".warning")).to_contain_text("There are no tasks yet.")
    expect(page.locator("#fit form button")).to_be_disabled()
    page.locator("#names").fill("tall <b>\ncolour\ndots")
    page.get_by_role("button", name="Invite").click()
    expect(page.locator(".done")).to_contain_text("3 workers were invited.")
    links = {row.name: f"/w/{row.code}" for row in site.project.invited()}
    copied = page.locator(".done .copy").get_attribute("data-copy")
    assert dict(line.split("\t") for line in copied.strip().split("\n")) == {
        name: site.server.url + link for name, link in links.items()
    }

    page.get_by_role("link", name="Overview").click()
    page.locator("#task-size").fill("12")
    page.locator("#redundancy").fill("3")
    page.locator("#answers-per-task").fill("3")
    expect(page.locator("#task-sum")).to_have_text("That makes about 6 tasks and 18 answers.")
    page.get_by_role("button", name="Add tasks").click()
    expect(page.locator(".done")).to_have_text("6 tasks were added.")
    expect(tile(page, "answers, of 18 wanted")).to_have_text("0")
    page.get_by_role("link", name="Workers").first.click()
    expect(page.locator("table tbody tr")).to_have_count(3)

    crowd = [people.Person(site.server.url, link.rpartition("/")[2]) for link in links.values()]
    visitors += crowd
    for which, person in enumerate(crowd):
        person.enter()
        for _ in range(5):
            person.sort(person.task(), lambda item, w=which: 1 + (KINDS[(item["id"] - 1) % 8][w] > 0), at_once=12)
    crowd[0].task()  # in work
    page.get_by_role("link", name="Overview").click()
    expect(tile(page, "answers, of 18 wanted")).to_have_text("15")
    expect(tile(page, "tasks in work now")).to_have_text("1")
    expect(page.get_by_role("img", name="83% done 1 in work, by 1 worker 2 to come")).to_be_visible()
    expect(page.locator("#fit-news")).to_have_text("15 answers to learn from.")

    press_fit(page)
    crowd[0].sort(crowd[0].task(), lambda item: 1 + (KINDS[(item["id"] - 1) % 8][0] > 0))  # people go on meanwhile
    see_fitted(page)
    assert len(site.project.answers()) == 16 * 12
    expect(page.locator("#fit-idle")).to_contain_text(re.compile("The last fit is of 1[56] answers"))
    expect(page.locator("dt", has_text="clusters found")).to_be_visible()
    expect(page.get_by_role("link", name="Clusters as csv")).to_be_visible()
    expect(page.locator("#strategy option:disabled")).to_have_count(0)
    page.get_by_role("link", name="Open the map").click()
    expect(page.locator("#map image")).to_have_count(24)
    expect(page.locator("#map image[href]")).to_have_count(24)


def tile(page, words):
    return page.locator("dt", has_text=words).locator("xpath=following-sibling::dd")


def test_an_open_page_follows_what_happens(serve, windows):
    site = serve(greebles(24), 12, redundancy=2, wanted=3)
    person = site.project.invite(["ann"])[0]
    page = watch(windows, site)
    expect(page.locator("#fit-now")).to_be_disabled()

    def type_before_it_comes(route):
        page.locator("#names").fill("bob")
        route.continue_()

    page.route("**/owner.js", type_before_it_comes, times=1)
    do_task(site.project, person, by_attribute(0))
    expect(page.locator("#names")).to_have_value("bob")  # loaded again, with the first answer
    expect(page.locator(".histogram")).to_be_visible()
    expect(page.locator("#fit-now")).to_be_enabled()
    page.evaluate("window.isOld = true")
    do_task(site.project, person, by_attribute(0))
    expect(tile(page, "answers, of 12 wanted")).to_have_text("2")
    expect(page.locator("#meter-key")).to_contain_text("17% done")
    expect(page.locator(".meter .filled")).to_have_attribute("width", "16.67")
    expect(page.locator("#fit-news")).to_have_text("2 answers to learn from.")

    modicum("fit", project=site.project.file)  # the page is not loaded again while somebody types
    expect(page.locator("#fit-ready")).to_be_visible()
    expect(page.locator("#names")).to_have_value("bob")
    assert page.evaluate("window.isOld")
    page.locator("#names").fill("")
    page.locator("#names").blur()
    expect(tile(page, "clusters found")).to_be_visible()
    expect(page.locator(".warning")).to_contain_text("Few answers so far")
    expect(page.locator("#fit-news")).to_contain_text("No answer is new since then.")


def test_a_fit_is_watched_to_its_end(serve, windows):
    site = serve(greebles(6), 6, wanted=9)
    do_task(site.project, site.project.invite(["ann"])[0], by_attribute(0))
    page = watch(windows, site)
    expect(page.locator("#fit-idle")).to_be_visible()
    with fitting(site.project, 1) as fit:
        fit.tell(0.5, "sweep 3")
        expect(page.locator("#fit-busy")).to_be_visible()
        expect(page.locator("#fit-idle")).to_be_hidden()
        expect(page.locator("#fit-share")).to_have_js_property("value", 0.5)
        expect(page.locator("#fit-words")).to_have_text("sweep 3")
        expect(page.locator("#fit-said")).to_have_text("A fit has begun.")
        fit.finish(b"", {"workers": [], "n_clusters": 1})
    see_fitted(page)
    expect(page.locator("#fit-said")).to_have_text("The fit is done. The map is ready.")


def test_a_fit_that_fails_says_why(serve, windows):
    site = serve(greebles(6), 6, wanted=9)
    person = site.project.invite(["ann"])[0]
    do_task(site.project, person, lambda shown: [{"id": n, "name": "", "items": [shown[n - 1]]} for n in (1, 2)])
    page = windows.open(site.server.owner_link)
    page.locator("#n-clusters").fill("1")
    page.locator("#fit form button").click()
    ended = page.locator("#fit-error:visible, #fit-links:visible")
    expect(ended.first).to_be_visible(timeout=people.PATIENCE * 1_000)
    expect(page.locator("#fit-busy")).to_be_hidden()


# ---- what was found ----------------------------------------------------------------------------------------


def test_the_map_shows_each_item(fitted, windows):
    page = windows.open(fitted.server.owner_link)
    page.goto(f"{fitted.server.url}/owner/map")
    found = findings(fitted.project)
    expect(page.locator("#map .node")).to_have_count(32)
    expect(page.locator("#map image")).to_have_count(16)
    expect(page.locator(".legend button")).to_have_count(found["n_clusters"])
    page.locator("#find-name").fill("greeble 3.png")
    page.keyboard.press("Enter")
    expect(page.locator("#detail-name")).to_have_text("greeble 3.png")
    page.wait_for_function("() => document.querySelector('#detail img').naturalWidth > 0")
    cluster = next(item["cluster"] for item in found["items"] if item["name"] == "greeble 3.png")
    expect(page.locator("#detail-facts .badge")).to_have_text(str(cluster))
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    page.locator("#find-name").fill("tone 1")
    page.keyboard.press("Enter")
    expect(page.locator("#detail-name")).to_have_text(f"tone 1 {EVIL}")
    page.wait_for_function("() => document.querySelector('#detail audio').duration === 3")
    page.locator("#detail-close").click()
    page.locator(f".legend button[data-cluster='{cluster}']").click()
    lit = sum(item["cluster"] == cluster for item in found["items"])
    expect(page.locator("#map .node.in")).to_have_count(lit)
    before = page.locator("#map .node").first.get_attribute("transform")
    page.locator("#zoom-in").click()
    expect(page.locator("#map .node").first).not_to_have_attribute("transform", before)


def test_an_item_is_found_before_the_map_is_drawn(fitted, windows):
    page = windows.open(fitted.server.owner_link)
    page.add_init_script("window.ResizeObserver = class { observe() {} }; window.requestAnimationFrame = () => 0")
    page.goto(f"{fitted.server.url}/owner/map")
    page.locator("#find-name").evaluate("(field) => { field.value = 'text 1'; field.form.requestSubmit(); }")
    expect(page.locator("#detail-name")).to_have_text("text 1")


# Boxes on the map as [left, top, right, bottom], by what they show.
PLACES = {
    "frame": ".map-frame",
    "numbers": ".middle",
    "items": ".node rect",
    "texts": ".node text",
    "rings": ".node .ring",
}
BOXES = """(places) => Object.fromEntries(Object.entries(places).map(
  ([name, selector]) => [name, [...document.querySelectorAll(selector)].map((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [left, top, right, bottom];
  })]))
"""


def is_within(inner, outer):
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def do_overlap(one, other, by=4):
    """Whether boxes overlap by some pixels; a box has more room than the digit in it."""
    return all(min(one[k + 2], other[k + 2]) - max(one[k], other[k]) > by for k in (0, 1))


@pytest.mark.parametrize("phone", [False, True])
def test_numbers_and_texts_on_the_map_have_room(fitted, windows, phone):
    page = windows.open(fitted.server.owner_link, phone=phone)
    page.goto(f"{fitted.server.url}/owner/map")
    expect(page.locator("#map image[href]")).to_have_count(16)
    expect(page.locator("#map .node[transform]")).to_have_count(32)  # all are in their places
    found = page.evaluate(BOXES, PLACES)
    assert len(found["numbers"]) == findings(fitted.project)["n_clusters"]
    for number in found["numbers"]:
        assert is_within(number, found["frame"][0])
        assert not any(do_overlap(number, item) for item in found["items"])
    assert all(is_within(text, ring) for text, ring in zip(found["texts"], found["rings"], strict=True))


@pytest.mark.parametrize("words", ["greeble 3.png", "text 1", "tone 1"])
def test_the_panel_of_an_item_fits_on_a_phone(fitted, windows, words):
    page = windows.open(fitted.server.owner_link, phone=True)
    page.goto(f"{fitted.server.url}/owner/map")
    page.locator("#find-name").fill(words)
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_be_visible()
    page.wait_for_function("() => [...document.querySelectorAll('#detail img')].every((image) => image.naturalWidth)")
    panel = box(page.locator("#detail"))
    assert is_within(panel, box(page.locator(".map-frame")))
    for part in ("#detail-name", "#detail-facts", "#detail-media"):
        assert is_within(box(page.locator(part)), panel), part


def box(locator):
    found = locator.bounding_box()
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def test_items_of_clusters_are_enlarged(fitted, windows):
    page = windows.open(fitted.server.owner_link)
    page.goto(f"{fitted.server.url}/owner/clusters")
    large = page.locator("#large")
    page.locator("[data-name='greeble 3.png']").click()
    expect(large.locator("h2")).to_have_text("greeble 3.png")
    page.wait_for_function("() => document.querySelector('#large img').naturalWidth > 96")
    page.keyboard.press("Escape")
    expect(large).to_be_hidden()
    page.locator("[data-kind=audio]").first.click()
    page.wait_for_function("() => document.querySelector('#large audio').duration === 3")
    large.get_by_role("button", name="Close").click()
    expect(large.locator("audio")).to_have_count(0)  # it is silent
    page.locator("[data-name='text 8']").click()
    expect(large.locator(".said")).to_have_text(EVIL)
    again = "(tile) => { tile.ownerDocument.getElementById('large').close(); tile.click(); }"
    page.locator("[data-name='text 7']").evaluate(again)  # before the page is told that the dialog has closed
    expect(large.locator(".said")).to_have_text(WORDS[6])


def test_a_page_of_many_workers_is_short_and_filtered(serve, windows):
    site = serve(greebles(6))
    site.project.invite([f"a person with a long name, number {number}" for number in range(1, 401)])
    page = windows.open(site.server.owner_link, phone=True)
    page.goto(f"{site.server.url}/owner/workers")
    size = "(element) => [element.scrollWidth, element.clientWidth, element.scrollHeight]"
    width, room, height = page.locator("html").evaluate(size)
    assert (width, room) == (390, 390)
    assert height < 3_000
    width, room, _ = page.locator(".long").evaluate(size)
    assert width > room  # the table is scrolled sideways, not the page
    page.locator("#filter-words").fill("NUMBER 39")
    rows = page.locator(".long tbody tr:visible")
    expect(rows).to_have_count(11)
    expect(page.locator("#filter-count")).to_have_text("11 of 400 workers")
    code = site.project.invited()[6].code
    page.locator("#filter-words").fill(f"{code[:4]}-{code[4:8]}")
    expect(rows).to_have_text(re.compile("number 7"))
    page.locator("#filter-words").fill("")
    expect(rows).to_have_count(400)


def test_clusters_and_workers_are_shown(fitted, windows):
    found = findings(fitted.project)
    page = windows.open(fitted.server.owner_link)
    page.get_by_role("link", name="Clusters").first.click()
    expect(page.locator("h1")).to_have_text(f"{found['n_clusters']} clusters of 32 items")
    expect(page.locator("section[id^=cluster-]")).to_have_count(found["n_clusters"])
    expect(page.locator(".tiles li")).to_have_count(32)
    page.get_by_role("link", name="Workers").first.click()
    expect(page.locator("table tbody tr")).to_have_count(9)
    expect(page.locator(".agreement svg path")).not_to_have_count(0)
    page.locator("table").get_by_role("link", name=f"ann {EVIL}").click()
    expect(page.locator("h1")).to_have_text(f"ann {EVIL}")
    expect(page.locator("table.confusion tbody tr")).to_have_count(found["n_clusters"])
    matrix = next(who for who in found["workers"] if who["name"] == f"ann {EVIL}")["confusion"]
    expect(page.locator("table.confusion tbody td")).to_have_count(sum(map(len, matrix)))
    shown = [int(cell) for cell in page.locator("table.confusion tbody td").all_inner_texts()]
    assert shown == pytest.approx([100 * value for row in matrix for value in row], abs=0.51)
    expect(page.locator("details.answer")).to_have_count(6)
    page.locator("details.answer summary").first.click()
    expect(page.locator("details.answer").first.locator("li")).to_have_count(16)

    page.get_by_role("button", name="Bar this worker").click()
    expect(page.locator(".warning")).to_contain_text("barred")
    page.get_by_role("button", name="Admit again").click()
    expect(page.get_by_role("button", name="Bar this worker")).to_be_visible()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_no_barriers_on_pages_of_owners(fitted, windows, axe, look):
    options = {"phone": look == "phone", "dark": look == "dark", "bypass_csp": True}
    page = windows.open(fitted.server.owner_link, **options)
    for path in PAGES:
        page.goto(fitted.server.url + path)
        if path == "/owner/map":
            page.locator("#find-name").fill("greeble 3.png")
            page.keyboard.press("Enter")
            expect(page.locator("#detail")).to_be_visible()
        if path == "/owner/workers/1":
            for words in ("details.answer summary", "details.explained summary"):
                page.locator(words).first.click()
        see_no_barriers(page, axe)
        if path == "/owner/clusters":
            page.locator(".tile").first.click()
            see_no_barriers(page, axe)


# ---- as in the guide ---------------------------------------------------------------------------------------


def test_a_project_from_pictures_to_clusters(windows, tmp_path):
    folder, path = tmp_path / "pictures", tmp_path / "creatures.crowd"
    folder.mkdir()
    for number in range(24):
        greeble(number).save(folder / f"{number}.png")
    modicum("new", path, "--items", folder, "--title", "Creatures")
    numbers = {"task-size": 12, "redundancy": 3, "answers-per-task": 3, "workers": 3, "random-state": 0}
    modicum("plan", *(part for name, value in numbers.items() for part in (f"--{name}", value)), project=path)
    with people.Server(path) as server, Project.open(path).closing() as project:
        links = [re.search(r"http\S+/w/\S+", line)[0] for line in server.said if "/w/" in line]
        assert len(links) == 3
        for which, link in enumerate(links):
            sort_all_by_keyboard(windows.open(link), which)
        page = windows.open(server.owner_link)
        press_fit(page)
        see_fitted(page)
        page.get_by_role("link", name="Open the map").click()
        expect(page.locator("#map image")).to_have_count(24)
        expect(page.locator("#map image[href]")).to_have_count(24)
        found = findings(project)
        expect(page.locator(".legend button")).to_have_count(found["n_clusters"])
        windows.close()  # before the server ends

        answers = project.answers()
        assert len(answers) == 3 * 6 * 12
        for who, task, group in {*zip(answers.worker, answers.task, answers.group, strict=True)}:
            rows = (answers.worker == who) & (answers.task == task) & (answers.group == group)
            which = int(str(who).split()[1]) - 1
            sides = {KINDS[int(str(item).split(".")[0]) % 8][which] for item in answers.item[rows]}
            assert len(sides) == 1  # each sorted by one attribute
        assert found["n_clusters"] > 1
        alike = {True: [], False: []}  # how many attributes pairs of pictures share, in one cluster and in two
        for one, other in itertools.combinations(found["items"], 2):
            kinds = [KINDS[int(item["name"].split(".")[0]) % 8] for item in (one, other)]
            alike[one["cluster"] == other["cluster"]].append(sum(map(operator.eq, *kinds)))
        # Of so few answers, a fit finds the eight kinds or unions of them.
        assert statistics.mean(alike[True]) > statistics.mean(alike[False]) + 0.5


def sort_all_by_keyboard(page, which):
    """Do all tasks: each item in the group of its height, colour or dots."""
    for pile in range(6):
        sorting = Sorting.start(page)
        sorting.tab_to_board()
        sides = [KINDS[int(name.split(".")[0]) % 8][which] for name in sorting.names]
        for side in sides:
            page.keyboard.press("1" if side == sides[0] else "2")
        groups = [[at for at, side in enumerate(sides) if (side == sides[0]) == first] for first in (True, False)]
        sorting.see([group for group in groups if group])
        page.keyboard.press("Control+Enter")
        sorting.submit()
        expect(page.locator("h1")).to_contain_text("Thank you" if pile < 5 else "All done, thank you")
