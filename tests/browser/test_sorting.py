"""The worker's page in a real browser: by mouse, by keyboard and by touch, with and without a connection."""

import re

import pytest

import people

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

from sqlalchemy import select

from modicum.crowd import random_plan
from modicum.web.store import Project
from modicum.web.store.media import Item, Media, picture_item, text_item
from modicum.web.store.schema import work
from projects import greeble, greebles, tone
from screens import Sorting, expect, middle, see_no_barriers

pytestmark = pytest.mark.slow
N_ITEMS = 40
EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>{{7*7}}"


@pytest.fixture
def worker(site):
    """Name and link of somebody who was just invited."""
    return site.invite()


@pytest.fixture
def sorting(windows, worker):
    """The page of a worker who has just started."""
    return Sorting.start(windows.open(worker[1]))


def all_but(*groups):
    return [at for at in range(N_ITEMS) if not any(at in group for group in groups)]


def see_history(sorting, *, undo, redo):
    """Wait until the buttons say what can be undone and redone."""
    for name, can in (("undo", undo), ("redo", redo)):
        expect(sorting.page.locator(f"#{name}")).to_have_attribute("aria-disabled", str(not can).lower())


# ---- a whole task ------------------------------------------------------------------------------------------


def test_a_task_is_sorted_by_mouse(site, worker, sorting):
    page = sorting.page
    sorting.drag(sorting.card(0), sorting.new)
    sorting.see([[0]])
    sorting.card(1).click()
    sorting.card(2).click()
    sorting.card(4).click(modifiers=["Shift"])
    expect(sorting.selected).to_have_count(4)
    sorting.drag(sorting.card(2), sorting.head(0))
    sorting.see([[0, 1, 2, 3, 4]])
    expect(sorting.selected).to_have_count(0)
    sorting.drag(sorting.card(5), sorting.new)
    sorting.drag(sorting.card(0), page.locator(".unsorted > header"))
    sorting.see([[1, 2, 3, 4], [5]])
    sorting.drag(sorting.card(9), sorting.head(0), drop=False)
    expect(sorting.tray(0)).to_have_class(re.compile("aimed"))
    page.keyboard.press("Escape")
    page.mouse.up()
    sorting.see([[1, 2, 3, 4], [5]])

    page.locator("#undo").click()
    page.locator("#undo").click()
    sorting.see([[0, 1, 2, 3, 4]])
    sorting.see_saved()
    sorting.reload()
    sorting.see([[0, 1, 2, 3, 4]])
    see_history(sorting, undo=True, redo=True)
    page.locator("#redo").click()
    sorting.see([[0, 1, 2, 3, 4], [5]])
    page.locator("#redo").click()
    sorting.see([[1, 2, 3, 4], [5]])
    see_history(sorting, undo=True, redo=False)
    for _ in range(4):
        page.locator("#undo").click()
    sorting.see([])
    see_history(sorting, undo=False, redo=True)
    for _ in range(4):
        page.locator("#redo").click()
    sorting.see([[1, 2, 3, 4], [5]])

    page.locator("#select-all").click()
    sorting.drag(sorting.card(20), sorting.head(1))
    groups = [[1, 2, 3, 4], [5, *all_but([1, 2, 3, 4, 5])]]
    sorting.see(groups)
    expect(page.locator("#nothing-left")).to_be_visible()
    page.locator("#submit").click()
    expect(page.locator("#submit-summary")).to_have_text("2 groups, 40 pictures sorted.")
    expect(page.locator("#submit-left")).to_be_hidden()
    sorting.submit()
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert page.evaluate("localStorage.length") == 0  # what was submitted is not kept
    assert site.groups(worker[0]) == sorting.named(groups)


def test_a_task_is_sorted_by_keyboard_alone(site, worker, windows):
    page = windows.open(worker[1])
    button = page.locator("form[action='/sort/start'] button")
    while not button.evaluate("(element) => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    sorting = Sorting(page)
    sorting.tab_to_board()
    assert sorting.focused() == 0

    sorting.press("1")
    sorting.see_said("picture 1 to new group 1")
    assert sorting.focused() == 1
    sorting.press("ArrowRight", "1")
    sorting.see_said("picture 3 to group 1")
    sorting.press("N")
    sorting.see_said("picture 4 to new group 2")
    sorting.see([[0, 2], [3]])
    sorting.press("ArrowRight", "ArrowRight", "2")
    sorting.see_said("picture 7 to group 2")
    sorting.press("9")
    expect(page.locator("#hint")).to_have_text("There is no group 9.")  # it is shown for a moment
    sorting.see_said("there is no group 9")
    sorting.press("Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft", "Shift+ArrowRight")
    expect(sorting.selected).to_have_count(3)
    sorting.press("3")
    sorting.see_said("3 pictures to new group 3")
    sorting.see([[0, 2], [3, 6], [7, 8, 9]])
    sorting.press("Enter")
    expect(sorting.selected).to_have_count(1)
    sorting.press("Escape")
    expect(sorting.selected).to_have_count(0)

    sorting.press("Control+z")
    sorting.see_said("undone: 3 pictures to new group 3")
    sorting.see([[0, 2], [3, 6]])
    sorting.press("Control+z", "Control+Shift+z")
    sorting.see_said("redone: picture 7 to group 2")
    sorting.see([[0, 2], [3, 6]])
    sorting.reload()  # at once: what is not saved yet must survive, too
    sorting.see([[0, 2], [3, 6]])
    see_history(sorting, undo=True, redo=True)
    sorting.tab_to_board()
    sorting.press("Control+Shift+z")
    sorting.see([[0, 2], [3, 6], [7, 8, 9]])
    sorting.press("Control+z", "Control+z", "Control+y", "Control+y")
    sorting.see([[0, 2], [3, 6], [7, 8, 9]])

    sorting.press("?")
    expect(page.locator("#keys")).to_be_visible()
    sorting.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    first = sorting.focused()
    assert first == 1
    sorting.press("Space")
    expect(page.locator("#look")).to_be_visible()
    expect(page.locator("#look-title")).to_have_text("picture 2 of 40")
    page.wait_for_function("() => document.querySelector('#look img').naturalWidth > 0")
    sorting.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(page.locator("#look-title")).to_have_text("picture 5 of 40")
    sorting.press("9")
    expect(page.locator("#look #hint")).to_have_text("There is no group 9.")  # not behind the dialog
    expect(page.locator("#look .live")).to_have_text("there is no group 9")
    sorting.press("3")
    expect(page.locator("#look-title")).to_have_text("picture 6 of 40")
    sorting.press("Space")
    expect(page.locator("#look")).to_be_hidden()
    sorting.see([[0, 2], [3, 6], [7, 8, 9, 4]])
    expect(sorting.card(5)).to_be_focused()

    page.keyboard.press("Control+a")
    expect(sorting.selected).to_have_count(N_ITEMS - 8)
    sorting.press("n")
    groups = [[0, 2], [3, 6], [7, 8, 9, 4], all_but([0, 2, 3, 6, 7, 8, 9, 4])]
    sorting.see(groups)
    assert sorting.focused() is not None
    sorting.press("Backspace")
    taken = next(at for group in groups for at in group if at not in {one for each in sorting.groups() for one in each})
    sorting.see_said(f"picture {taken + 1} taken back")
    sorting.press("Control+z")
    sorting.see(groups)
    sorting.press("Control+Enter")
    expect(page.locator("#submitting")).to_be_visible()
    sorting.press("Shift+Tab")
    page.keyboard.type("1 n 0 ?")
    expect(page.locator("#comment")).to_have_value("1 n 0 ?")
    sorting.press("Tab", "Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert site.groups(worker[0]) == sorting.named(groups)


def test_a_task_is_sorted_by_touch(site, worker, windows):
    page = windows.open(worker[1], phone=True)
    sorting = Sorting.start(page)
    for at in (0, 1):
        sorting.card(at).tap()
    expect(sorting.selected).to_have_count(2)
    sorting.new.tap()
    sorting.see([[0, 1]])
    sorting.card(2).tap()
    sorting.head(0).tap()
    sorting.see([[0, 1, 2]])
    sorting.card(3).tap()
    sorting.new.tap()
    sorting.see([[0, 1, 2], [3]])

    finger = page.context.new_cdp_session(page)
    touch(finger, "touchStart", *middle(sorting.card(5)))
    page.locator(".ghost").wait_for()  # a long press lifts
    touch(finger, "touchMove", *middle(sorting.head(1)))
    expect(sorting.tray(1)).to_have_class(re.compile("aimed"))
    touch(finger, "touchEnd")
    sorting.see([[0, 1, 2], [3, 5]])
    touch(finger, "touchStart", *middle(sorting.card(6)))
    page.locator(".ghost").wait_for()
    touch(finger, "touchEnd")
    expect(page.locator("#look")).to_be_visible()  # a long press that goes nowhere enlarges
    page.locator("#look [data-place='1']").tap()
    page.locator("#look [data-closes]").tap()
    sorting.see([[0, 1, 2, 6], [3, 5]])

    page.locator("#undo").tap()
    page.locator("#undo").tap()
    sorting.see([[0, 1, 2], [3]])
    sorting.see_saved()
    sorting.reload()
    sorting.see([[0, 1, 2], [3]])
    page.locator("#redo").tap()
    page.locator("#redo").tap()
    sorting.see([[0, 1, 2, 6], [3, 5]])
    page.locator("#undo").tap()
    sorting.see([[0, 1, 2], [3, 5]])
    sorting.card(2).tap()
    page.locator("#take-back").tap()
    sorting.see([[0, 1], [3, 5]])

    page.locator("#select-all").tap()
    sorting.head(0).tap()
    groups = [[0, 1, *all_but([0, 1, 3, 5])], [3, 5]]
    sorting.see(groups)
    page.locator("#submit").tap()
    page.locator("#submit-now").tap()
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert site.groups(worker[0]) == sorting.named(groups)


def touch(finger, kind, *at):
    points = [{"x": at[0], "y": at[1]}] if at else []
    finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.mark.parametrize("phone", [False, True])
def test_all_items_are_shown_without_scrolling(windows, worker, phone):
    sorting = Sorting.start(windows.open(worker[1], phone=phone))
    sorting.page.wait_for_function(
        "() => [...document.querySelectorAll('#unsorted img')].every((one) => one.complete && one.naturalWidth)"
    )
    for what in ("#unsorted", ":root"):
        sizes = sorting.page.locator(what).evaluate(
            "(list) => [list.scrollWidth - list.clientWidth, list.scrollHeight - list.clientHeight]"
        )
        assert max(sizes) <= 0
    box = sorting.card(0).bounding_box()
    assert min(box["width"], box["height"]) >= 44  # the smallest comfortable target


def test_keys_work_while_the_focus_is_in_a_dialog_that_has_closed(sorting):
    sorting.page.evaluate("""() => {
      const dialog = document.getElementById("keys");
      dialog.showModal();
      const focused = document.activeElement;
      dialog.close();
      focused.dispatchEvent(new KeyboardEvent("keydown", {key: "n", bubbles: true}));
    }""")
    sorting.see([[]])


def test_an_item_that_is_enlarged_at_once_after_another_is_shown(sorting):
    sorting.card(3).dblclick()
    expect(sorting.page.locator("#look-title")).to_have_text("picture 4 of 40")
    sorting.page.evaluate("""() => {
      document.getElementById("look").close();
      const card = document.querySelectorAll("#unsorted .item")[5];
      card.dispatchEvent(new KeyboardEvent("keydown", {key: " ", bubbles: true}));
    }""")  # before the page is told that the dialog has closed
    expect(sorting.page.locator("#look-title")).to_have_text("picture 6 of 40")
    expect(sorting.page.locator("#look img")).to_have_count(1)
    leave_look(sorting, 5)


def leave_look(sorting, at):
    """Close the enlarged view of an item, and wait until that has the focus."""
    sorting.press("Escape")
    expect(sorting.page.locator("#look")).to_be_hidden()
    expect(sorting.card(at)).to_be_focused()


def test_keys_work_before_anything_has_the_focus(sorting):
    page = sorting.page
    assert not sorting.has_focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("3")
    sorting.see_said("go to something with the arrow keys, or select it first")
    page.keyboard.press("n")
    sorting.see([[]])
    sorting.see_no_focus()
    page.keyboard.press("ArrowDown")
    assert sorting.focused() == 0
    sorting.press("ArrowRight", "1")
    sorting.see([[1]])

    page.locator(".tools [data-opens=instructions]").click()
    page.keyboard.press("Escape")
    expect(page.locator("#instructions")).to_be_hidden()
    page.keyboard.press("Control+a")
    expect(sorting.selected).to_have_count(N_ITEMS - 1)
    page.keyboard.press("Escape")  # the focus is on a tool
    expect(sorting.selected).to_have_count(0)
    page.keyboard.press("n")  # single keys are for the board alone
    sorting.see([[1]])
    for button in ("#select-all", "#select-none"):  # they hide themselves
        page.locator(button).focus()
        sorting.press("Enter")
        assert sorting.focused() == 2


def test_a_hint_goes_when_it_is_heeded(sorting):
    sorting.new.click()
    sorting.head(0).click()
    hint = sorting.page.locator("#hint")
    expect(hint).to_have_text("Select something first, then choose a group.")
    sorting.card(0).click()
    assert hint.text_content() == ""


@pytest.mark.parametrize("phone", [False, True])
def test_the_group_that_receives_items_is_shown(windows, worker, phone):
    sorting = Sorting.start(windows.open(worker[1], phone=phone))
    sorting.tab_to_board()
    for number in range(16):
        sorting.press("n")
        see_whole(sorting.tray(number))
    sorting.press("1")
    see_whole(sorting.tray(0))


def see_whole(thing):
    """Wait until a thing is in sight: not beyond the window, nor scrolled away."""
    expect(thing).to_be_in_viewport(ratio=0.98)


@pytest.mark.parametrize("phone", [False, True])
def test_the_groups_get_the_room_when_nothing_is_left(windows, worker, phone):
    sorting = Sorting.start(windows.open(worker[1], phone=phone))
    page = sorting.page

    def room():
        return page.locator(".groups").bounding_box()["height" if phone else "width"]

    before = room()
    sorting.tab_to_board()
    sorting.press("1")
    page.keyboard.press("Control+a")
    sorting.card(1).click()
    sorting.press("2")
    sorting.see([[0], list(range(2, N_ITEMS))])
    assert room() == before  # as long as anything is left
    expect(page.locator("#select-all")).to_be_visible()
    sorting.card(1).focus()
    sorting.press("1")
    expect(page.locator("#nothing-left")).to_be_visible()
    expect(page.locator("#select-all")).to_be_hidden()
    assert room() > 1.4 * before
    sorting.press("Control+z")
    expect(page.locator("#nothing-left")).to_be_hidden()
    assert room() == before


# ---- groups ------------------------------------------------------------------------------------------------


def test_groups_are_renamed_merged_and_removed(site, worker, sorting):
    page = sorting.page
    sorting.tab_to_board()
    sorting.press(*"112233")
    sorting.see([[0, 1], [2, 3], [4, 5]])

    page.locator(".more").nth(0).click()
    expect(page.locator("#group")).to_be_visible()
    page.locator("#group-name").fill("short ones")
    sorting.press("Enter")
    expect(sorting.tray(0).locator(".name")).to_have_text("short ones")
    expect(sorting.tray(0).locator(".name")).to_have_attribute("title", "short ones")
    sorting.see_said("group 1 is now called short ones")
    page.locator(".more").nth(1).click()
    page.locator("#group-others").select_option(label="1. short ones")
    page.locator("#group-merge").click()
    sorting.see_said("group 2 merged into group 1 (short ones)")
    sorting.see([[0, 1, 2, 3], [4, 5]])
    assert sorting.has_focus()
    sorting.card(9).click()
    sorting.drag(sorting.head(1), sorting.head(0), drop=False)
    expect(page.locator(".ghost")).to_have_text(re.compile(r"^\s*2\s+Group 2\s+2\s*$"))  # without "Put here"
    page.keyboard.press("Escape")
    page.mouse.up()
    page.keyboard.press("Escape")
    sorting.drag(sorting.head(1), sorting.head(0))  # the head of a group dropped on another merges, too
    sorting.see([[0, 1, 2, 3, 4, 5]])
    page.locator("#undo").click()
    sorting.see([[0, 1, 2, 3], [4, 5]])
    page.locator(".more").nth(0).click()
    page.locator("#group-remove").click()
    sorting.see([[4, 5]])
    sorting.see_said("group 1 (short ones) removed")
    assert sorting.has_focus()
    expect(page.locator("#unsorted-count")).to_have_text(str(N_ITEMS - 2))

    for groups in ([[0, 1, 2, 3], [4, 5]], [[0, 1], [2, 3], [4, 5]]):
        page.locator("#undo").click()
        sorting.see(groups)
    expect(sorting.tray(0).locator(".name")).to_have_text("short ones")
    page.locator("#undo").click()
    expect(sorting.tray(0).locator(".name")).to_have_text("Group 1")
    page.locator("#redo").click()
    expect(sorting.tray(0).locator(".name")).to_have_text("short ones")
    page.locator(".more").nth(2).click()
    page.locator("#group-select").click()
    expect(sorting.selected).to_have_count(2)
    sorting.press("1")
    sorting.see([[0, 1, 4, 5], [2, 3], []])
    sorting.see_saved()
    page.locator("#submit").click()
    expect(page.locator("#submit-summary")).to_have_text("2 groups, 6 pictures sorted.")
    sorting.submit()
    assert site.groups(worker[0]) == sorting.named([[0, 1, 4, 5], [2, 3]])
    rows = site.project.answer_rows()
    named = {
        item
        for who, item, name in zip(rows["worker"], rows["item"], rows["name"], strict=True)
        if who == worker[0] and name == "short ones"
    }
    assert named == {sorting.names[at] for at in (0, 1, 4, 5)}


def test_a_warning_for_items_in_no_group_and_a_comment_that_is_kept(site, worker, sorting):
    page = sorting.page
    page.locator("#submit").click()
    expect(page.locator("#too-few")).to_be_visible()
    expect(page.locator("#submit-now")).to_be_disabled()
    page.locator("#submitting [data-closes]").click()
    sorting.card(0).focus()
    sorting.press(*"1122")
    sorting.press("Control+Enter")
    left = page.locator("#submit-left-text")
    expect(left).to_have_text("36 pictures are in no group; they count as left out.")
    page.locator("#submitting [data-closes]").click()
    sorting.card(4).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("1")
    sorting.card(39).click()
    page.locator("#take-back").click()
    page.locator("#submit").click()
    expect(left).to_have_text("1 picture is in no group; it counts as left out.")
    page.locator("#each-alone").click()
    expect(page.locator("#submit-left")).to_be_hidden()
    page.locator("#submitting [data-closes]").click()
    page.locator("#undo").click()
    page.locator("#submit").click()
    page.locator("#comment").fill("Some look <b>odd</b>.\nSorry.")
    page.locator("#submit-now").dblclick()  # submits once
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert site.groups(worker[0]) == sorting.named([[0, 1, *range(4, 39)], [2, 3]])
    with site.project.reading() as connection:
        done = connection.execute(select(work.c.comment, work.c.seconds).where(work.c.id == sorting.work)).one()
    assert done.comment == "Some look <b>odd</b>.\nSorry."
    assert done.seconds > 0
    page.go_back()  # what was submitted is not sorted again
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")


def test_a_comment_survives_a_reload_and_is_submitted_by_key(site, worker, sorting):
    page = sorting.page
    sorting.tab_to_board()
    sorting.press("1", "1", "Control+Enter")
    page.locator("#comment").fill("Two of them are blurred.")
    sorting.see_saved()
    sorting.reload()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#submitting")).to_be_visible()
    expect(page.locator("#comment")).to_have_value("Two of them are blurred.")
    page.locator("#comment").press("End")
    hold = "new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, repeat: true, bubbles: true})"
    page.locator("#comment").evaluate(f"(field) => field.dispatchEvent({hold})")
    assert page.locator("#submit-trouble").text_content() == ""  # keys held down do not submit
    page.keyboard.press("Control+Enter")
    expect(page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    with site.project.reading() as connection:
        told = connection.execute(select(work.c.comment).where(work.c.id == sorting.work)).scalar_one()
    assert told == "Two of them are blurred."


def test_a_browser_that_keeps_nothing_submits_a_comment(site, worker, windows):
    blocked = "{get() { throw new DOMException('blocked', 'SecurityError'); }}"
    person = windows.person()
    person.add_init_script(
        f"for (const kind of ['local', 'session']) Object.defineProperty(window, `${{kind}}Storage`, {blocked})"
    )
    page = person.new_page()
    page.goto(worker[1])
    sorting = Sorting.start(page)
    sorting.tab_to_board()
    sorting.press("1", "1", "Control+Enter")
    page.locator("#comment").fill("All fine.")
    sorting.submit()
    with site.project.reading() as connection:
        told = connection.execute(select(work.c.comment).where(work.c.id == sorting.work)).scalar_one()
    assert told == "All fine."


# ---- trouble -----------------------------------------------------------------------------------------------


def test_work_goes_on_without_a_server_and_is_sent_later(windows, tmp_path):
    path = tmp_path / "lost.crowd"
    project = Project.create(path, greebles(12), title="Greebles", instruction="Sort them.")
    project.add_plan(random_plan(project.item_names(), 12, 1, random_state=0), 1)
    code = project.invite(["ann"])[0].code
    windows.expect_complaint("ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE")
    with people.Server(path) as server:
        page = windows.open(f"{server.url}/w/{code}")
        sorting = Sorting.start(page)
        page.wait_for_load_state("networkidle")
        sorting.tab_to_board()
        sorting.press("1")
        sorting.see_saved()
        server.kill()
    sorting.press(*"1122")
    mark = page.locator("#saved")
    expect(mark).to_have_attribute("data-status", "offline")
    expect(mark).to_have_text("Not connected: kept in this browser, will be sent")
    expect(page.locator("#trouble")).to_have_text("Not connected: kept in this browser, will be sent")
    sorting.press("Control+z", "3")
    sorting.see([[0, 1, 2], [3], [5]])
    page.locator("#submit").click()
    page.locator("#submit-now").click()
    expect(page.locator("#submit-trouble")).to_contain_text("could not be sent")
    page.keyboard.press("Escape")
    with people.Server(path, port=server.port) as server:
        sorting.see_saved()  # without anything that the worker does
        expect(page.locator("#trouble")).to_have_text("")
        server.kill()
    sorting.card(6).focus()
    sorting.press("1")
    expect(mark).to_have_attribute("data-status", "offline")
    page.close()  # what is not saved stays in the browser
    with people.Server(path, port=server.port) as server:
        again = page.context.new_page()
        again.goto(f"{server.url}/sort")
        sorting = Sorting(again)
        groups = [[0, 1, 2, 6], [3], [5]]
        sorting.see(groups)
        sorting.see_saved()
        again.locator("#undo").click()
        sorting.see([[0, 1, 2], [3], [5]])
        again.locator("#redo").click()
        sorting.see(groups)
        again.locator("#submit").click()
        sorting.submit()
    answers = project.answers()
    by_group = {group: set(answers.item[answers.group == group].tolist()) for group in set(answers.group.tolist())}
    assert {frozenset(items) for items in by_group.values()} == sorting.named(groups)
    project.close()


def test_moves_that_were_saved_after_the_page_was_asked_for_are_not_forgotten(sorting):
    page, answers = sorting.page, []
    answers.append(page.request.get(page.url))
    sorting.tab_to_board()
    for key, groups in (("1", [[0]]), ("N", [[0], [1]]), ("Control+z", [[0]])):
        sorting.press(key)
        sorting.see(groups)
    sorting.see_saved()
    page.route("**/sort", lambda route: route.fulfill(response=answers.pop()), times=1)
    sorting.reload()
    assert not answers  # the page is the old one
    sorting.see([[0]])
    see_history(sorting, undo=True, redo=True)
    sorting.tab_to_board()
    sorting.press("Control+Shift+z")
    sorting.see([[0], [1]])
    sorting.see_saved()
    expect(page.locator("#message")).to_be_hidden()


def test_a_second_window_is_told_what_the_first_has_done(site, worker, windows, sorting):
    windows.expect_complaint("status of 409")
    first, page = sorting, sorting.page.context.new_page()
    page.goto(f"{site.server.url}/sort")
    second = Sorting(page)
    first.tab_to_board()
    first.press("1", "1")
    first.see_saved()
    second.card(5).focus()
    page.keyboard.press("1")
    expect(page.locator("#message")).to_be_visible()
    expect(page.locator("#message-title")).to_have_text("Changed in another window")
    page.keyboard.press("Enter")
    second.see([[0, 1]])
    expect(page.locator("#message")).to_be_hidden()
    second.card(5).focus()
    second.press("1")
    second.see([[0, 1, 5]])
    second.see_saved()
    page.locator("#submit").click()
    second.submit()

    first.press("2")  # in the window that does not know
    expect(first.page.locator("#message-title")).to_have_text("Already submitted")
    first.page.keyboard.press("Enter")
    expect(first.page.locator(".pile-count")).to_have_text("You have sorted 1 pile; 1 is left, for you or others.")
    assert site.groups(worker[0]) == second.named([[0, 1, 5]])


def test_a_worker_who_is_barred_is_told_and_keeps_the_work(site, worker, windows, sorting):
    windows.expect_complaint("status of 40[14]")
    sorting.tab_to_board()
    sorting.press("1")
    sorting.see_saved()
    number = next(row.id for row in site.project.invited() if row.name == worker[0])
    site.project.bar(number, active=False)
    sorting.press("1")
    expect(sorting.page.locator("#saved")).not_to_have_attribute("data-status", re.compile("saved|saving"))
    site.project.bar(number, active=True)
    sorting.press("2")
    sorting.see_saved()
    sorting.reload()
    sorting.see([[0, 1], [2]])


def test_names_and_texts_are_shown_as_they_are(serve, windows):
    items = [
        picture_item(greeble(0), f"{EVIL}.png", EVIL),
        text_item(f"text {EVIL}", EVIL),
        Item(f"sound {EVIL}", "audio", EVIL, full=Media("audio/wav", tone(440))),
        *greebles(3),
    ]
    site = serve(items, 6, title=EVIL, instruction=EVIL, details=EVIL)
    name, link = site.invite(EVIL)
    page = windows.open(link)
    expect(page.locator("h1")).to_have_text(f"Welcome, {EVIL}")
    expect(page.locator(".sentence")).to_have_text(EVIL)
    sorting = Sorting.start(page)
    expect(page.locator("h1")).to_have_text(EVIL)
    expect(sorting.card(sorting.names.index(f"text {EVIL}"))).to_have_text(EVIL)
    picture = f"{EVIL}.png".rpartition("/")[2]  # folders are not told
    expect(sorting.card(sorting.names.index(picture))).to_have_attribute("aria-label", re.compile(re.escape(EVIL)))
    sorting.tab_to_board()
    sorting.press(*"112")
    page.locator(".more").first.click()
    page.locator("#group-name").fill(EVIL)
    sorting.press("Enter")
    expect(sorting.tray(0).locator(".name")).to_have_text(EVIL)
    sorting.see_said(f"group 1 is now called {EVIL}")
    page.locator(".more").nth(1).click()
    expect(page.locator("#group-others option")).to_have_text(f"1. {EVIL}")
    sorting.press("Escape")
    for at in range(3):
        sorting.card(at).focus()
        sorting.press("Space")
        expect(page.locator("#look-title")).to_contain_text(f" {at + 1} of 6")
        expect(page.locator("#look .place .name").first).to_have_text(EVIL)
        leave_look(sorting, at)
    sorting.see_saved()
    sorting.reload()
    expect(sorting.tray(0).locator(".name")).to_have_text(EVIL)
    assert page.locator("img[src='x']").count() == 0
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
    page.locator("#submit").click()
    page.locator("#comment").fill(EVIL)
    sorting.submit()

    owner = windows.open(site.server.owner_link)
    expect(owner.locator("h1")).to_have_text(EVIL)
    owner.get_by_role("link", name=EVIL).first.click()
    expect(owner.locator("h1")).to_have_text(EVIL)
    expect(owner.locator("details q")).to_have_text(EVIL)
    owner.locator("details summary").last.click()
    expect(owner.locator("details h3").first).to_have_text(EVIL)
    assert owner.locator("img[src='x']").count() == 0
    assert len(site.groups(name)) == 2


def test_texts_and_sounds_are_sorted(serve, windows):
    words = ["the wind howls", "snow falls", "a dog barks", "a cat purrs", "rain", "a bird sings"]
    texts = [text_item(f"text {number}", text) for number, text in enumerate(words)]
    long = {n: Media("audio/wav", tone(220 * n, seconds=60)) for n in range(1, 7)}  # none ends before the test does
    sounds = [Item(f"tone {n}.wav", "audio", f"tone {n}", full=sound) for n, sound in long.items()]
    site = serve([*texts, *sounds], 12, redundancy=1)
    name, link = site.invite()
    page = windows.open(link)
    sorting = Sorting.start(page)
    is_sound = [at for at, each in enumerate(sorting.names) if each.startswith("tone")]
    is_text = [at for at in range(12) if at not in is_sound]
    first = sorting.card(is_sound[0])
    first.locator(".play").click()
    expect(first).to_have_class(re.compile("playing"))
    expect(sorting.selected).to_have_count(0)
    sorting.card(is_sound[1]).locator(".play").click()  # one at a time
    expect(page.locator(".playing")).to_have_count(1)
    sorting.card(is_sound[1]).locator(".play").click()
    expect(page.locator(".playing")).to_have_count(0)
    first.focus()
    sorting.press("Space")
    page.wait_for_function("() => document.querySelector('#look audio').duration === 60")  # it was decoded
    leave_look(sorting, is_sound[0])
    sorting.card(is_text[0]).dblclick()
    expect(page.locator(".look-text")).to_have_text(words[int(sorting.names[is_text[0]].split()[1])])
    leave_look(sorting, is_text[0])
    sorting.card(is_sound[0]).focus()
    sorting.press("1")
    sorting.see_said(f"sound {is_sound[0] + 1} to new group 1")
    for at in is_sound[1:]:
        sorting.card(at).focus()
        sorting.press("1")
    sorting.card(is_text[0]).focus()
    sorting.press("Control+a", "2")
    groups = [is_sound, is_text]
    sorting.see(groups)
    sorting.press("Control+Enter")
    expect(page.locator("#submit-summary")).to_have_text("2 groups, 12 items sorted.")
    sorting.submit()
    expect(page.locator("h1")).to_contain_text("All done, thank you")
    assert site.groups(name) == sorting.named(groups)


LONG = "The committee met on Tuesday to discuss the repairs to the roof of the old town hall. " * 5
TITLE = LONG[:68]


@pytest.fixture(scope="module")
def long_site(serve):
    """Long texts and the sound of a file with a long name, with a long title and a long instruction."""
    texts = [text_item(f"text {number}", f"{number}. {LONG}") for number in range(11)]
    sound = Item("2023_05_12_recording_north_0042.wav", "audio", "a tone", full=Media("audio/wav", tone(440)))
    return serve([*texts, sound], 12, title=TITLE, instruction=LONG)


def test_long_texts_are_shown_as_far_as_there_is_room(long_site, windows):
    page = windows.open(long_site.invite()[1])
    sorting = Sorting.start(page)
    at = next(at for at, name in enumerate(sorting.names) if name.startswith("text"))
    words = sorting.card(at).locator(".words")
    line = words.evaluate("(words) => parseFloat(getComputedStyle(words).lineHeight)")
    card, shown = sorting.card(at).bounding_box(), words.bounding_box()
    assert card["y"] <= shown["y"]  # nothing is cut off in the middle of a line
    assert shown["height"] > card["height"] - 1.5 * line
    assert page.locator(".titles .name").get_attribute("title") == TITLE
    page.locator("#read-all").click()
    expect(page.locator("#instructions .lead")).to_have_text(LONG)


def test_a_short_instruction_is_not_offered_again(sorting):
    expect(sorting.page.locator("#read-all")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_cut_off_or_covered_on_a_phone(long_site, windows, width):
    windows.expect_complaint("ERR_INTERNET_DISCONNECTED")
    page = windows.open(long_site.invite()[1], phone=True)
    page.set_viewport_size({"width": width, "height": 640})
    sorting = Sorting.start(page)
    assert "click" not in page.locator("body").inner_text()
    assert page.locator(".kind").bounding_box()["height"] < 30  # one line
    sorting.card(0).tap()
    sorting.new.tap()
    sorting.see([[0]])
    see_tools(page, width)
    sorting.see_saved()
    page.context.set_offline(True)
    sorting.card(0).tap()
    sorting.card(1).tap()
    expect(sorting.selected).to_have_count(2)
    assert sorting.head(0).locator(".name").evaluate("(name) => name.scrollWidth <= name.clientWidth")
    see_whole(page.locator("#take-back"))
    assert page.locator(".unsorted > header").bounding_box()["height"] < 50
    sorting.head(0).tap()
    expect(page.locator("#saved")).to_have_attribute("data-status", "offline")
    see_tools(page, width)
    sorting.card(2).focus()
    sorting.press("Space")
    shown = page.locator(".look-body").bounding_box()
    for step in page.locator("[data-step]").all():
        see_whole(step)
        assert step.bounding_box()["y"] >= shown["y"] + shown["height"]
    page.context.set_offline(False)


def see_tools(page, width):
    """Check that each tool is whole, and within the window."""
    for tool in page.locator(".tools > :visible").all():
        box = tool.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert tool.evaluate("(tool) => tool.scrollWidth <= tool.clientWidth")
    assert page.locator("#saved").bounding_box()["height"] < 40  # two lines at most


# ---- for everybody -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_no_barriers_on_pages_of_workers(site, worker, windows, axe, look):
    options = {"phone": look == "phone", "dark": look == "dark", "bypass_csp": True}
    windows.expect_complaint("status of 401")
    page = windows.open(f"{site.server.url}/", **options)
    see_no_barriers(page, axe)
    page.goto(f"{site.server.url}/w/nobody")
    expect(page.locator("#code-error")).to_be_visible()
    see_no_barriers(page, axe)
    page.goto(worker[1])
    see_no_barriers(page, axe)
    sorting = Sorting.start(page)
    see_no_barriers(page, axe)
    sorting.card(0).focus()
    sorting.press(*"1122334455667788n")
    sorting.new.click()
    sorting.card(30).focus()
    sorting.press("Enter")
    see_no_barriers(page, axe)
    sorting.press("Space")
    expect(page.locator("#look")).to_be_visible()
    see_no_barriers(page, axe)
    sorting.press("Escape")
    expect(page.locator("#look")).to_be_hidden()
    sorting.press("Escape")
    for opener, dialog in (
        (".tools [data-opens=instructions]", "instructions"),
        ("[data-opens=keys]", "keys"),
        ("#submit", "submitting"),
        (".more >> nth=0", "group"),
    ):
        if (look, dialog) == ("phone", "keys"):
            expect(page.locator(opener)).to_be_hidden()
            continue
        page.locator(opener).click()
        expect(page.locator(f"#{dialog}")).to_be_visible()
        see_no_barriers(page, axe)
        page.keyboard.press("Escape")
        expect(page.locator(f"#{dialog}")).to_be_hidden()


def test_a_code_is_typed_in(site, windows):
    windows.expect_complaint("status of 401")
    name, link = site.invite()
    page = windows.open(f"{site.server.url}/")
    page.locator("#code").fill("not a code")
    page.keyboard.press("Enter")
    expect(page.locator("#code-error")).to_have_text("This code is not known. Please check it.")
    code = link.rpartition("/")[2]
    page.locator("#code").fill(f" {code[:4]} {code[4:].upper()} ")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(f"Welcome, {name}")
