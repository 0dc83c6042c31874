// What a worker can do. Each action becomes a move: shown, announced and saved.

import * as state from "./state.js";
import { groupsInWords } from "./words.js";

export class Board {
  told = new Map(); // what was said of each move made on this page, by its number

  constructor({ timeline, saving, selection, view, words, seconds, say }) {
    Object.assign(this, { timeline, saving, selection, view, words, seconds, say });
  }

  get groups() { return this.timeline.groups; }
  get unsorted() { return this.view.unsortedItems(); }

  put(items, id) {
    const where = this.words.group(this.groups, id);
    this.#act(state.put(this.groups, items, id), `${this.words.some(items)} to ${where}`, id);
  }

  // An empty group is fine: some people name their groups first.
  putInNew(items) {
    const where = `group ${this.groups.length + 1}`;
    const message = items.length ? `${this.words.some(items)} to new ${where}` : `new ${where}`;
    const id = this.#newId();
    this.#act(state.putInNew(this.groups, items, id), message, id);
  }

  putEachAlone(items) {
    const message = `${groupsInWords(items.length)} of one made`;
    this.#act(state.putEachAlone(this.groups, items, this.#newId()), message);
  }

  takeBack(items) {
    this.#act(state.takeBack(this.groups, items), `${this.words.some(items)} taken back`);
  }

  // `target`: the data-drop of the place, "unsorted", "new" or the id of a group.
  putOn(target, items) {
    if (target === "unsorted") this.takeBack(items);
    else if (target === "new") this.putInNew(items);
    else this.put(items, Number(target));
  }

  // `position`: the number people see. One above the last group makes that group.
  putAt(position, items) {
    const group = this.groups[position - 1];
    if (group) this.put(items, group.id);
    else if (position === this.groups.length + 1) this.putInNew(items);
    else this.say(`there is no group ${position}`, { visibly: true });
  }

  rename(id, name) {
    const position = this.groups.findIndex((group) => group.id === id) + 1;
    const message = name ? `group ${position} is now called ${name}` : `group ${position} has no name now`;
    this.#act(state.rename(this.groups, id, name), message);
  }

  merge(from, into) {
    const message = `${this.words.group(this.groups, from)} merged into ${this.words.group(this.groups, into)}`;
    this.#act(state.merge(this.groups, from, into), message, into);
  }

  remove(id) {
    const message = `${this.words.group(this.groups, id)} removed`;
    this.#act(state.remove(this.groups, id), message);
  }

  undo() {
    const { undoNumber, line, at } = this.timeline;
    this.#goTo(undoNumber, line[at], "undone", "nothing to undo");
  }

  redo() {
    const { redoNumber } = this.timeline;
    this.#goTo(redoNumber, redoNumber, "redone", "nothing to redo");
  }

  show() {
    this.view.show(this.groups);
    this.view.showHistory(this.timeline.undoNumber !== undefined, this.timeline.redoNumber !== undefined);
  }

  #newId() { return this.timeline.lastId + 1; }

  // `receiver`: the id of the group that grows, if there is one.
  #act(groups, message, receiver) {
    const isNew = groups !== this.groups;
    if (isNew) {
      this.#move({ groups });
      this.told.set(this.timeline.line.at(-1), message);
      this.view.reveal(receiver);
    }
    this.say(isNew ? message : "nothing to change");
    this.selection.clear();
  }

  // Goes to the state after move `number`, which undoes or redoes the move `changed`.
  #goTo(number, changed, message, otherwise) {
    if (number === undefined) return this.say(otherwise);
    this.#move({ to: number });
    const told = this.told.get(changed); // nothing is told of moves made before the page was loaded
    this.say(told ? `${message}: ${told}` : message);
  }

  #move(move) {
    const timed = { ...move, seconds: this.seconds() };
    this.timeline.add(timed);
    this.show();
    this.saving.add(timed);
  }
}
