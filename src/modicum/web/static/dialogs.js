// The dialogs: one group, submitting, and messages. All are <dialog> elements of the page.

import { placedItems } from "./state.js";
import { groupsInWords } from "./words.js";

const byId = (id) => document.getElementById(id);

// Buttons with data-opens="id" open that dialog; a click on the backdrop closes it.
// The browser gives the focus back to where it was.
export function listenToDialogs() {
  document.addEventListener("click", ({ target }) => {
    const opener = target.closest("[data-opens]");
    if (opener) byId(opener.dataset.opens).showModal();
    else if (target.closest("[data-closes]")) target.closest("dialog").close();
    else if (target.matches("dialog:not([data-stays])")) target.close();
  });
}

// Rename, merge, select all and remove for one group.
export class GroupDialog {
  constructor(board) {
    this.board = board;
    this.dialog = byId("group");
    this.name = byId("group-name");
    this.others = byId("group-others");
    this.dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#close(() => board.rename(this.id, this.name.value.trim()));
    });
    byId("group-merge").addEventListener("click", () => this.#close(() => board.merge(this.id, Number(this.others.value))));
    byId("group-remove").addEventListener("click", () => this.#close(() => board.remove(this.id)));
    byId("group-select").addEventListener("click", () => this.#close(() => this.#selectAll()));
  }

  open(id) {
    this.id = id;
    const { groups } = this.board;
    const at = groups.findIndex((group) => group.id === id);
    const { name, items } = groups[at];
    this.dialog.querySelector("h2").textContent = `Group ${at + 1}`;
    this.name.value = name;
    this.name.placeholder = `Group ${at + 1}`;
    this.#showOthers(groups);
    byId("group-select").disabled = !items.length;
    this.dialog.showModal();
    this.name.select();
  }

  #showOthers(groups) {
    const options = groups.map((group, i) => new Option(`${i + 1}. ${group.name || `Group ${i + 1}`}`, group.id));
    this.others.replaceChildren(...options.filter((option) => Number(option.value) !== this.id));
    this.dialog.querySelector(".merging").hidden = groups.length < 2;
  }

  // Closing first gives the focus back to the tray, where the action can take care of it.
  #close(action) {
    this.dialog.close();
    action();
  }

  #selectAll() {
    const { board } = this;
    const { items } = board.groups.find((group) => group.id === this.id);
    board.selection.replace(items);
    board.say(`${board.words.some(items)} selected`);
    board.view.focusItem(items[0]);
  }
}

// The comment, kept in this tab until it is submitted. Storage may be blocked or full: then only the page has it.
class Draft {
  constructor(key) {
    this.key = key;
  }

  read() {
    try {
      return sessionStorage.getItem(this.key) ?? "";
    } catch {
      return "";
    }
  }

  write(text) {
    try {
      if (text) sessionStorage.setItem(this.key, text);
      else sessionStorage.removeItem(this.key);
    } catch { /* the page still has it */ }
  }
}

export class SubmitDialog {
  constructor({ board, saving, words, seconds }) {
    Object.assign(this, { board, saving, words, seconds });
    this.dialog = byId("submitting");
    this.button = byId("submit-now");
    this.trouble = byId("submit-trouble");
    this.comment = byId("comment");
    this.draft = new Draft(`${saving.keep.key}-comment`);
    this.comment.value = this.draft.read();
    this.comment.addEventListener("input", () => this.draft.write(this.comment.value));
    byId("each-alone").addEventListener("click", () => {
      board.putEachAlone(board.unsorted);
      this.#describe();
      this.button.focus();
    });
    this.dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      if (!event.repeat) this.#submit(); // held down, the keys that opened this dialog would submit at once
    });
  }

  open() {
    this.#describe();
    this.trouble.textContent = "";
    this.dialog.showModal();
  }

  #describe() {
    const { groups, unsorted } = this.board;
    const placed = placedItems(groups).length;
    const left = unsorted.length;
    const made = groupsInWords(groups.filter((group) => group.items.length).length);
    byId("submit-summary").textContent = `${made}, ${this.words.count(placed)} sorted.`;
    byId("submit-left").hidden = left === 0;
    byId("submit-left-text").textContent = left === 1
      ? `1 ${this.words.noun[0]} is in no group; it counts as left out.`
      : `${left} ${this.words.noun[1]} are in no group; they count as left out.`;
    byId("too-few").hidden = placed > 1;
    byId("too-few").textContent = `Sort at least two ${this.words.noun[1]} first. One alone cannot be compared with anything.`;
    this.button.disabled = placed < 2;
  }

  async #submit() {
    if (this.busy || this.button.disabled) return; // a double click submits once
    this.busy = true;
    this.trouble.textContent = "Sending…";
    const isDone = (await this.saving.send()) && (await this.saving.submit(this.comment.value, this.seconds()));
    if (isDone) this.#leave();
    else this.trouble.textContent = this.saving.stopped ? "" : "This could not be sent now. Your groups are kept. Please try again.";
    this.busy = isDone;
  }

  #leave() {
    this.draft.write("");
    location.assign("/sort");
  }
}

// A message the worker has to read before the page goes on to `url`; null loads it again.
export function tellAndLeave(heading, text, url = null) {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  const dialog = byId("message");
  dialog.querySelector("h2").textContent = heading;
  dialog.querySelector("p").textContent = text;
  dialog.addEventListener("close", () => (url ? location.assign(url) : location.reload()));
  dialog.showModal();
}
