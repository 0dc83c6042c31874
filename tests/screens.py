"""Windows of a real browser at a project: what workers see and do, and what the browser complains of."""

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
expect = sync_api.expect

PATIENCE = 30_000.0  # milliseconds: a busy machine is slow, a broken page never shows the sign
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]  # of axe-core
GROUPS_SHOWN = """
[...document.querySelectorAll('.tray')].map(
  (tray) => [...tray.querySelectorAll('[data-item]')].map((card) => Number(card.dataset.item)))
"""


def find_chromium():
    """The path of the browser, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def find_axe():
    """The path of axe-core, or None."""
    if named := os.environ.get("AXE_CORE"):
        return Path(named) if Path(named).is_file() else None
    within = Path("node_modules", "axe-core", "axe.min.js")
    places = [folder / part / within for folder in Path(__file__).resolve().parents for part in (".venv", "")]
    return next((path for path in places if path.is_file()), None)


@contextmanager
def chromium():
    """A browser. Playwright runs an event loop in this thread until its end."""
    expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Windows:
    """Windows of one browser. Errors and warnings on the console, errors of scripts, and dialogs are kept."""

    def __init__(self, browser):
        self._browser = browser
        self._said, self._expected, self._contexts = [], [], []

    def person(self, *, phone=False, dark=False, **options):
        """A browser of their own, with its own cookies: a desktop's, or a phone's."""
        sizes = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 800}
        context = self._browser.new_context(
            viewport=sizes,
            has_touch=phone,
            is_mobile=phone,
            color_scheme="dark" if dark else "light",
            **options,
        )
        context.set_default_timeout(PATIENCE)
        context.on("console", lambda told: told.type in ("error", "warning") and self._said.append(told.text))
        context.on("weberror", lambda error: self._said.append(f"error of a script: {error.error}"))
        context.on("dialog", self._dismiss)
        self._contexts.append(context)
        return context

    def open(self, url, **options):
        """A page in the window of a new person."""
        page = self.person(**options).new_page()
        page.goto(url)
        return page

    def _dismiss(self, dialog):
        self._said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def expect_complaint(self, words):
        """Words, as a regular expression, that the browser may say in this test."""
        self._expected.append(words)

    def complaints(self):
        return [said for said in self._said if not any(re.search(words, said) for words in self._expected)]

    def close(self):
        while self._contexts:
            self._contexts.pop().close()


class Sorting:
    """The page on which a worker sorts. Items are known by their places in the pile, from 0 on."""

    def __init__(self, page):
        self.page = page
        self.see_board()
        task = page.evaluate("JSON.parse(document.getElementById('task').textContent)")
        self.work = task["work"]
        self.ids = [item["id"] for item in task["items"]]
        self.names = [item["name"] for item in task["items"]]

    @classmethod
    def start(cls, page):
        """Take a task on the start page."""
        page.locator("form[action='/sort/start'] button").click()
        return cls(page)

    def __len__(self):
        return len(self.ids)

    # ---- what is where ---------------------------------------------------------------------------

    def card(self, at):
        return self.page.locator(f"[data-item='{self.ids[at]}']")

    def tray(self, at):
        return self.page.locator(".tray").nth(at)

    def head(self, at):
        """The head of a group, which takes what is dropped on it."""
        return self.tray(at).locator(".put")

    @property
    def new(self):
        return self.page.locator("#new-group")

    @property
    def selected(self):
        return self.page.locator("[aria-selected=true]")

    def groups(self):
        return [[self.ids.index(item) for item in group] for group in self.page.evaluate(GROUPS_SHOWN)]

    def named(self, groups):
        """Groups as sets of the names of items."""
        return {frozenset(self.names[at] for at in group) for group in groups}

    # ---- signs -----------------------------------------------------------------------------------

    def see_board(self):
        """Wait until the items are shown in the size that fits, which comes with the first frame."""
        self.page.locator("#unsorted[style] .item, #board[data-sorted] .item").first.wait_for()

    def see(self, groups):
        """Wait until these groups are shown."""
        wanted = [[self.ids[at] for at in group] for group in groups]
        condition = f"(wanted) => JSON.stringify({GROUPS_SHOWN.strip()}) === JSON.stringify(wanted)"
        try:
            self.page.wait_for_function(condition, arg=wanted)
        except sync_api.TimeoutError:
            raise AssertionError(f"the page shows {self.groups()}, not {groups}") from None

    def see_saved(self):
        expect(self.page.locator("#saved")).to_have_attribute("data-status", "saved")

    def see_said(self, words):
        """Wait until screen readers were told this."""
        expect(self.page.locator("#live")).to_have_text(words)

    def has_focus(self):
        """Whether the focus is on something."""
        return self.page.evaluate("document.activeElement !== null && document.activeElement !== document.body")

    def see_no_focus(self):
        """Wait until nothing has the focus: browsers take it away from what is hidden a moment later."""
        self.page.wait_for_function("document.activeElement === document.body")

    def focused(self):
        """The place in the pile of the item that has the focus, or None."""
        item = self.page.evaluate("document.activeElement.dataset.item ?? null")
        return None if item is None else self.ids.index(int(item))

    # ---- what people do --------------------------------------------------------------------------

    def press(self, *keys):
        """Press keys; the focus must never be lost."""
        for key in keys:
            self.page.keyboard.press(key)
            assert self.has_focus(), f"{key}: the focus is lost"

    def tab_to_board(self):
        """Go from the top of the page to the items by the Tab key."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.focused() is not None:
                return
        raise AssertionError("the items can't be reached by Tab")

    def drag(self, source, target, *, drop=True):
        """Drag with the mouse from the middle of one thing to that of another."""
        self.page.mouse.move(*middle(source))
        self.page.mouse.down()
        self.page.mouse.move(*middle(target), steps=6)
        if drop:
            self.page.mouse.up()

    def reload(self):
        self.page.reload()
        self.see_board()

    def submit(self):
        """Submit in the open dialog, and wait for the page that comes next."""
        self.page.locator("#submit-now").click()
        self.page.locator("h1", has_text=re.compile("thank you", re.IGNORECASE)).wait_for()


def middle(locator):
    """The middle of a thing, once it has stopped moving."""
    locator.element_handle().wait_for_element_state("stable")
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def see_no_barriers(page, axe):
    """Check a page with the source of axe-core."""
    page.evaluate(axe)
    found = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", RULES)
    assert found["passes"], "axe-core checked nothing"
    told = [
        f"{rule['id']}: {rule['help']}: {node['html'][:160]}: {node.get('failureSummary', '')[:200]}"
        for rule in found["violations"]
        for node in rule["nodes"][:3]
    ]
    assert not told, f"{page.url}: " + "\n".join(told)
