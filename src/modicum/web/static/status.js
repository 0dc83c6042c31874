// What the page tells the worker: the saved mark, and one line about the last action.

const MARKS = {
  saved: "Saved",
  saving: "Saving…",
  offline: "Not connected: kept in this browser, will be sent",
  unkept: "Not connected, and this browser cannot keep your work: please leave this page open",
  "signed-out": "Signed out: open your personal link again. Your work is kept in this browser",
};

export function showMark(status) {
  const mark = document.getElementById("saved");
  mark.dataset.status = status;
  mark.querySelector("span").textContent = MARKS[status];
  // Saved and Saving change all the time and are not announced; trouble is.
  const trouble = document.getElementById("trouble");
  const message = status === "saved" || status === "saving" ? "" : mark.textContent.trim();
  if (trouble.textContent !== message) trouble.textContent = message;
}

let fading;

// Announces to screen readers; `visibly` also shows it for a moment.
export function say(text, { visibly = false } = {}) {
  // Behind an open dialog nothing is read or seen; where it matters, the dialog has a line of its own.
  const dialog = document.querySelector("dialog[open]");
  const live = dialog?.querySelector(".live") ?? document.getElementById("live");
  live.textContent = live.textContent === text ? `${text}\u00a0` : text; // the same text again must differ to be read
  clearHint();
  if (visibly) showHint(`${text[0].toUpperCase()}${text.slice(1)}.`, dialog ?? document.body);
}

function showHint(text, place) {
  const hint = document.getElementById("hint");
  place.append(hint);
  hint.textContent = text;
  fading = setTimeout(clearHint, 4000);
}

export function clearHint() {
  clearTimeout(fading);
  document.getElementById("hint").textContent = "";
}
