"""People at a project, simulated: a server in a process of its own, and workers who talk to it as browsers do."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

PATIENCE = 120.0  # seconds: a busy machine is slow, a broken server never answers


class Server:
    """`modicum crowd serve` on a free port of loopback, until `stop` or `kill`."""

    def __init__(self, project, port=0, folder=None):
        environment = {**os.environ, "MODICUM_PROJECT": str(project)}
        command = [sys.executable, "-m", "modicum", "crowd", "serve", "--port", str(port)]
        self._process = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self._process.stderr:
            self.said.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                break
        else:
            raise RuntimeError(f"the server ended: {self.said}")
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        self._drainer.start()
        self.owner_link = next(
            re.search(r"\S+/owner/enter/\S+", line)[0] for line in self.said if "/owner/enter/" in line
        )
        self.url = self.owner_link.partition("/owner/")[0]
        self.port = urlsplit(self.url).port

    def _drain(self):
        self.said += [line.rstrip("\n") for line in self._process.stderr]

    def kill(self):
        """End it as a loss of power would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self):
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._process.poll() is None:
            self.kill()
        self._drainer.join()  # it reads to the end
        self._process.stderr.close()


class Refused(Exception):
    """An answer other than 200 or a redirection."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:300]}")
        self.status, self.body = status, body


class Browser:
    """One connection with cookies, as a browser has it; it follows no redirections."""

    def __init__(self, url):
        self._where = urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self._where, timeout=PATIENCE)
        self.cookies = {}
        self.csrf = ""

    def request(self, method, path, body=None, headers=None):
        """(status, body as text); answers that refuse are raised."""
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **(headers or {})}
        if isinstance(body, dict):
            body, kind = json.dumps(body), "application/json"
            sent = {"Content-Type": kind, "X-CSRF-Token": self.csrf, **sent}
        try:
            self._connection.request(method, path, body, sent)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next request connects anew
            raise
        for cookie in answer.headers.get_all("set-cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        if answer.status >= 400:
            raise Refused(answer.status, text.decode(errors="replace"))
        return answer.status, text

    def get(self, path):
        return self.request("GET", path)[1].decode()

    def post(self, path, body):
        return json.loads(self.request("POST", path, body)[1])

    def submit_form(self, path, **fields):
        from urllib.parse import urlencode

        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode({"csrf": self.csrf, **fields}), kind)

    def close(self):
        self._connection.close()


class Person(Browser):
    """A worker who enters by the personal link, takes tasks, moves items one by one and submits.

    `saved` and `submitted` hold what the server has acknowledged, by work.
    """

    def __init__(self, url, code):
        super().__init__(url)
        self._code = code
        self.saved, self.submitted, self.seconds = {}, {}, []

    def enter(self):
        self.request("GET", f"/w/{self._code}")

    def task(self):
        """The task in hand, after starting one if there was none; None if all is done."""
        page = self.get("/sort")
        if 'id="task"' not in page:
            self.csrf = csrf_in(page)
            if 'action="/sort/start"' not in page:
                return None
            self.submit_form("/sort/start")
            page = self.get("/sort")
        found = json.loads(re.search(r'<script type="application/json" id="task">(.*?)</script>', page, re.DOTALL)[1])
        self.csrf = found["csrf"]
        return found

    def sort(self, task, group_of, at_once=1):
        """Put the items of a task in groups one after another, `at_once` in a request, and submit."""
        path, number = f"/sort/{task['work']}", task["number"]
        groups = task["moves"][-1]["groups"] if task["moves"] else []
        placed = {item for group in groups for item in group["items"]}
        moves = []
        for item in task["items"]:
            if item["id"] in placed:
                continue
            groups = put(groups, item["id"], group_of(item))
            moves.append({"groups": groups, "seconds": 1.0 + len(moves)})
            if len(moves) == at_once:
                number = self._send(task, number, moves)
                moves = []
        if moves:
            number = self._send(task, number, moves)
        self._timed(f"{path}/submit", {"number": number, "comment": "", "seconds": 60.0})
        self.submitted[task["work"]] = groups

    def _send(self, task, number, moves):
        answer = self._timed(f"/sort/{task['work']}/moves", {"first": number + 1, "moves": moves})
        self.saved[task["work"]] = answer["number"], moves[-1]["groups"]
        return answer["number"]

    def _timed(self, path, body):
        began = time.perf_counter()
        answer = self.post(path, body)
        self.seconds.append(time.perf_counter() - began)
        return answer


def csrf_in(page):
    found = re.search(r'name="csrf" value="([^"]*)"', page)
    return found[1] if found else ""


def put(groups, item, number):
    """Groups with an item more in the group of that number."""
    groups = [{**group, "items": [*group["items"]]} for group in groups]
    for group in groups:
        if group["id"] == number:
            group["items"].append(item)
            return groups
    return [*groups, {"id": number, "name": "", "items": [item]}]
