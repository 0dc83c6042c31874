// Sends moves to the server in order, one request at a time, until each one is saved.
//
// `log` holds every move of this work, `saved` counts those the server has confirmed.
// What lies between, and a little more, is kept in the browser as well, so closing the page loses nothing.

const PAUSES = [1, 2, 4, 8, 15]; // seconds between attempts
const BATCH = 100; // moves per request: keeps the body small after a long time offline
const PATIENCE = 20_000; // milliseconds; a dead connection may otherwise stay silent for minutes
const KEPT = 20; // saved moves kept as well: the page that comes next may have been asked for before they were saved
const KEEPALIVE_LIMIT = 20_000; // characters; browsers refuse more than 64 KiB that outlives the page

const SIGNED_OUT = [401, 404]; // not known, or barred: the moves may be saved later

const forSending = ({ to, groups, seconds = 0 }) => (to === undefined ? { groups, seconds } : { to, seconds });

export class Saving {
  failures = 0; // attempts in a row that were made after a pause
  isKept = true;
  stopped = false;

  // `report(status)` is told "saved", "saving", "offline" or "signed-out";
  // `end(reason, error)` is called once, with "submitted", "conflict" or "refused".
  constructor({ work, csrf, moves, pending, keep, report, end }) {
    Object.assign(this, { work, csrf, keep, report, end });
    this.log = [...moves, ...pending];
    this.saved = moves.length;
    window.addEventListener("online", () => this.send());
    document.addEventListener("visibilitychange", () => document.hidden || this.send());
    window.addEventListener("beforeunload", (event) => {
      if (this.pending && !this.isKept && !this.stopped) event.preventDefault();
    });
  }

  get pending() { return this.log.length - this.saved; }

  add(move) {
    this.log.push(move);
    this.#keep();
    this.send();
  }

  // True once every move is saved; false if that has to wait.
  async send() {
    if (this.stopped) return false;
    clearTimeout(this.timer);
    this.running ??= this.#sendAll().finally(() => { this.running = null; });
    await this.running;
    return !this.pending && !this.stopped;
  }

  async submit(comment, seconds) {
    const answer = await this.#post("submit", { number: this.saved, comment, seconds });
    if (answer.status !== 200) {
      this.#settle(answer);
      return false;
    }
    this.#forget();
    return true;
  }

  async #sendAll() {
    while (this.pending && !this.stopped) {
      this.report("saving");
      const moves = this.log.slice(this.saved, this.saved + BATCH);
      const answer = await this.#post("moves", { first: this.saved + 1, moves: moves.map(forSending) });
      if (!this.#settle(answer)) return;
    }
    if (!this.stopped) this.report("saved");
  }

  // Acts on an answer; true when sending may go on at once.
  #settle(answer) {
    const { status, number, error } = answer;
    if (status === 200) return this.#confirm(number);
    if (status === 409) return this.#resolve(answer);
    if (status === 0 || status === 429 || status >= 500) return this.#retryLater();
    if (!SIGNED_OUT.includes(status)) return this.#stop("refused", error); // so would be all moves after these
    this.report("signed-out");
    return false;
  }

  #confirm(number) {
    this.saved = number;
    this.failures = 0;
    this.#keep();
    return true;
  }

  // The server is at another number than we thought. That is harmless if it lacks moves we still have.
  // It takes moves that it has already; others than it has came from another window.
  #resolve({ number, submitted }) {
    if (submitted) return this.#stop("submitted");
    return number < this.saved ? this.#confirm(number) : this.#stop("conflict");
  }

  #stop(reason, error) {
    this.#forget();
    this.end(reason, error);
    return false;
  }

  #forget() {
    this.stopped = true;
    this.keep.write(0, []);
  }

  #retryLater() {
    const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
    this.report("offline");
    this.timer = setTimeout(() => {
      this.failures += 1; // not those of attempts at a move: whoever goes on working need not wait longer
      this.send();
    }, pause * 1000);
    return false;
  }

  #keep() {
    const first = Math.max(0, this.saved - KEPT);
    this.isKept = this.keep.write(first + 1, this.log.slice(first));
  }

  // The answer's status and JSON; status 0 when there was none, or when something else answered
  // for the server, such as the sign-in page of a public network.
  async #post(what, content) {
    const body = JSON.stringify(content);
    try {
      const response = await fetch(`/sort/${this.work}/${what}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": this.csrf },
        body,
        keepalive: body.length < KEEPALIVE_LIMIT, // the last move survives closing the page
        signal: AbortSignal.timeout(PATIENCE),
      });
      const answer = await response.json().catch(() => ({}));
      const isOurs = !response.ok || "number" in answer || "left" in answer;
      return { ...answer, status: isOurs ? response.status : 0 };
    } catch {
      return { status: 0 };
    }
  }
}
