"""Milliseconds of the page on which workers sort: until the first picture, and from an input to the next frame.

    python benchmarks/speed/crowd_page.py [--quick] [--repeat 30]

A project of 40 pictures of Greebles on a server in another process; Chromium without a display at 1280 x 800 with a
mouse, and at 390 x 844 with touch. First picture: from the start of the navigation to the first picture that is
painted, with an empty cache (Element Timing). Actions: from the time stamp of the input event, which the browser sets
when it receives the input, to the first task after the next frame was produced, measured in the page. A drag is timed
from the release.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import ROOT, Result, arguments

sys.path.insert(0, str(ROOT / "tests"))
import people
from modicum.crowd import random_plan
from modicum.web.store import Project
from projects import greebles
from screens import Sorting, Windows, chromium, middle

COMMAND = "python benchmarks/speed/crowd_page.py"
N_ITEMS, GROUPS, EACH = 40, 3, 6
FIRST_SECONDS, ACTION_MS = 1.0, 100.0
WATCH_PICTURES = """
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const node of addedNodes)
    for (const picture of node.querySelectorAll?.("img") ?? []) picture.setAttribute("elementtiming", "item");
}).observe(document, { childList: true, subtree: true });
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) (window.painted ??= []).push(entry.renderTime);
}).observe({ type: "element", buffered: true });
"""
WATCH_INPUT = """(kind) => {
  window.waits = null;
  window.addEventListener(kind, (event) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel(); // its message comes after the frame
    port1.onmessage = () => { window.waits = performance.now() - event.timeStamp; };
    port2.postMessage(0);
  }), { capture: true, once: true });
}"""
ACTIONS = (
    "select by click",
    "put in a group by click",
    "drag and drop",
    "key 1-9",
    "key N",
    "undo",
    "redo",
    "rename",
    "merge",
)


class Timed:
    """The page of a worker, with the milliseconds of actions."""

    def __init__(self, sorting, touch):
        self.sorting, self.page, self.touch = sorting, sorting.page, touch
        self.finger = self.page.context.new_cdp_session(self.page)
        self.waits = {name: [] for name in ACTIONS}

    def time(self, name, kind, act):
        """Do something that ends with an event of a kind, and note how long the next frame took."""
        self.page.evaluate(WATCH_INPUT, kind)
        act()
        self.page.wait_for_function("() => window.waits !== null")
        self.waits[name].append(self.page.evaluate("() => window.waits"))

    def press(self, locator):
        locator.tap() if self.touch else locator.click()

    def unsorted(self):
        return self.page.locator("#unsorted .item").first

    def prepare(self):
        """Some groups to begin with."""
        self.unsorted().focus()
        for key in "123456789"[:GROUPS]:
            for _ in range(EACH):
                self.page.keyboard.press(key)
        self.sorting.see_saved()

    def all_actions(self, number):
        """Each action once; at the end everything is as before."""
        page, sorting = self.page, self.sorting
        self.time("select by click", "click", lambda: self.press(self.unsorted()))
        self.time("put in a group by click", "click", lambda: self.press(sorting.head(0)))
        self.time("drag and drop", "pointerup", self.drag(self.unsorted(), sorting.head(1)))
        for name, keys in (("key 1-9", "3"), ("key N", "n"), ("undo", "Control+z"), ("redo", "Control+Shift+z")):
            self.unsorted().focus()
            self.time(name, "keydown", self.pressed(keys))
        self.press(page.locator(".more").nth(GROUPS))
        page.locator("#group-name").fill(f"name {number}")
        self.time("rename", "keydown", self.pressed("Enter"))
        self.press(page.locator(".more").nth(GROUPS))
        page.locator("#group-others").select_option(index=0)
        self.time("merge", "click", lambda: self.press(page.locator("#group-merge")))
        self.unsorted().focus()
        for _ in range(6):
            page.keyboard.press("Control+z")
        sorting.see_saved()

    def pressed(self, keys):
        """What presses keys; those that are held are down before the time is taken."""
        *held, last = keys.split("+")
        for key in held:
            self.page.keyboard.down(key)

        def press():
            self.page.keyboard.press(last)
            for key in held:
                self.page.keyboard.up(key)

        return press

    def drag(self, source, target):
        """What drops a thing that is dragged to a place by now."""
        if not self.touch:
            self.sorting.drag(source, target, drop=False)
            return self.page.mouse.up
        self._touch("touchStart", middle(source))
        self.page.locator(".ghost").wait_for()
        self._touch("touchMove", middle(target))
        return lambda: self._touch("touchEnd")

    def _touch(self, kind, at=None):
        points = [] if at is None else [{"x": at[0], "y": at[1]}]
        self.finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def first_picture(windows, link, phone):
    """Seconds to the first and to the last picture in a browser that was never there before."""
    context = windows.person(phone=phone)
    page = context.new_page()
    page.add_init_script(WATCH_PICTURES)
    page.goto(link)
    page.wait_for_function("(n) => window.painted?.length >= n", arg=N_ITEMS)
    painted = page.evaluate("() => window.painted")
    context.close()
    return min(painted) / 1000, max(painted) / 1000


def measure(browser, server, link, phone, repeat):
    windows = Windows(browser)
    page = windows.open(link, phone=phone)
    timed = Timed(Sorting.start(page), phone)
    loads = [first_picture(windows, f"{server.url}/w/{link.rpartition('/')[2]}", phone) for _ in range(repeat)]
    timed.prepare()
    timed.all_actions(0)  # not timed: scripts are compiled
    timed.waits = {name: [] for name in ACTIONS}
    for number in range(1, repeat + 1):
        timed.all_actions(number)
    if complaints := windows.complaints():
        raise RuntimeError(f"the browser complains: {complaints}")
    windows.close()
    return loads, timed.waits


# ---- table -------------------------------------------------------------------------------------------------


COLUMNS = [
    ("screen", "screen", ""),
    ("action", "action", ""),
    ("median", "median, ms", ".0f"),
    ("largest", "largest, ms", ".0f"),
    ("n", "times", "d"),
]


def row(screen, action, values):
    return {
        "screen": screen,
        "action": action,
        "median": statistics.median(values),
        "largest": max(values),
        "n": len(values),
    }


def bars(result, rows):
    for screen in dict.fromkeys(each["screen"] for each in rows):
        own = {each["action"]: each for each in rows if each["screen"] == screen}
        first, worst = own["first picture"], max((own[name] for name in ACTIONS), key=lambda each: each["largest"])
        wish = f"{screen}: the first of {N_ITEMS} pictures is painted within {FIRST_SECONDS:g} s, each time"
        result.bar(wish, f"{first['largest']:.0f} ms", first["largest"] < 1000 * FIRST_SECONDS)
        wish = f"{screen}: a frame within {ACTION_MS:g} ms of every input"
        result.bar(wish, f"{worst['largest']:.0f} ms ({worst['action']})", worst["largest"] < ACTION_MS)


def main():
    args = arguments(__doc__, repeat={"type": int, "default": 30})
    repeat = 3 if args.quick else args.repeat
    result = Result("crowd_page", COMMAND, args, repeat=repeat, n_items=N_ITEMS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.crowd"
        project = Project.create(path, greebles(N_ITEMS, size=320), title="Greebles", instruction="Sort them.")
        project.add_plan(random_plan(project.item_names(), N_ITEMS, 1, random_state=args.seed), 2)
        with project.closing(), people.Server(path) as server, chromium() as browser:
            result.content["browser"] = f"Chromium {browser.version}"
            for worker, (screen, phone) in zip(
                project.invite(["mouse", "touch"]), (("1280 x 800", False), ("390 x 844, touch", True)), strict=True
            ):
                link = f"{server.url}/w/{worker.code}"
                loads, waits = measure(browser, server, link, phone, repeat)
                for action, seconds in zip(("first picture", "last picture"), zip(*loads, strict=True), strict=True):
                    rows.append(row(screen, action, [1000 * each for each in seconds]))
                rows += [row(screen, action, values) for action, values in waits.items()]
    result.table("milliseconds", COLUMNS, rows)
    bars(result, rows)
    result.write()


if __name__ == "__main__":
    main()
