// Draws groups on the page. Cards and trays are made once and then moved, never rebuilt.

import { makeCard } from "./cards.js";
import { placedItems } from "./state.js";

const HUES = 8; // colours in sort.css

export const idOf = (card) => Number(card.dataset.item);
export const cardAt = (target) => target.closest?.("[data-item]");

// Gives `list` exactly these children in this order, touching only what differs.
function arrange(list, children) {
  children.forEach((child, i) => {
    if (list.children[i] !== child) list.insertBefore(child, list.children[i] ?? null);
  });
  while (list.children.length > children.length) list.lastElementChild.remove();
}

// One card per list is reached by Tab, the others by arrow keys.
function keepOneTabStop(list, wanted) {
  const cards = [...list.children];
  const stop = wanted ?? cards.find((card) => card.tabIndex === 0) ?? cards[0];
  for (const card of cards) card.tabIndex = card === stop ? 0 : -1;
}

export class View {
  cards = new Map();
  trays = new Map();

  constructor(task, words) {
    this.order = task.items.map((item) => item.id);
    this.words = words;
    this.board = document.getElementById("board");
    this.unsorted = document.getElementById("unsorted");
    this.trayList = document.getElementById("trays");
    task.items.forEach((item, i) => this.cards.set(item.id, makeCard(item, i, words.itemInFull(item.id))));
    this.board.addEventListener("focusin", ({ target }) => {
      if (cardAt(target)) keepOneTabStop(target.parentElement, target);
    });
  }

  show(groups) {
    const focused = document.activeElement;
    arrange(this.trayList, groups.map((group, i) => this.#tray(group, i)));
    this.#forgetTraysExcept(groups);
    for (const group of groups) this.#fill(this.trays.get(group.id).querySelector(".items"), group.items);
    const placed = new Set(placedItems(groups));
    const left = this.order.filter((id) => !placed.has(id));
    this.#fill(this.unsorted, left);
    this.board.dataset.groups = groups.length;
    document.getElementById("unsorted-count").textContent = left.length;
    document.getElementById("nothing-left").hidden = left.length > 0;
    document.getElementById("select-all").hidden = !left.length;
    this.board.toggleAttribute("data-sorted", !left.length);
    this.#refocus(focused);
  }

  showSelection(selection) {
    for (const [id, card] of this.cards) card.setAttribute("aria-selected", selection.has(id));
    this.board.toggleAttribute("data-armed", selection.size > 0);
    const isSorted = [...selection.ids].some((id) => this.cards.get(id).parentElement !== this.unsorted);
    document.getElementById("take-back").hidden = !isSorted;
    document.getElementById("selected-count").textContent = `${selection.size} selected`;
    if (!document.activeElement.getClientRects().length) this.focusSomewhere(); // the button just pressed is hidden now
  }

  showHistory(canUndo, canRedo) {
    // Not `disabled`: a button that is pressed for the last time would lose the focus.
    document.getElementById("undo").setAttribute("aria-disabled", !canUndo);
    document.getElementById("redo").setAttribute("aria-disabled", !canRedo);
  }

  focusItem(id) {
    this.cards.get(id).focus();
  }

  // At once, not smoothly: whoever works fast would miss a tray that moves.
  reveal(id) {
    this.trays.get(id)?.scrollIntoView({ block: "nearest" });
  }

  listOf(id) {
    return [...this.cards.get(id).parentElement.children].map(idOf);
  }

  unsortedItems() {
    return [...this.unsorted.children].map(idOf);
  }

  #tray(group, i) {
    const tray = this.trays.get(group.id) ?? this.#newTray(group);
    const name = group.name || `Group ${i + 1}`;
    const set = (selector, text) => { tray.querySelector(selector).textContent = text; };
    set(".badge", i + 1);
    set(".name", name);
    tray.querySelector(".name").title = name; // it may be cut off
    set(".count", group.items.length);
    const label = group.name ? `Group ${i + 1}, ${group.name}` : `Group ${i + 1}`;
    tray.querySelector(".badge").setAttribute("aria-hidden", !group.name); // "Group 2" says the number itself
    tray.querySelector(".more").setAttribute("aria-label", `${label}: rename, merge, remove`);
    tray.querySelector(".items").setAttribute("aria-label", label);
    return tray;
  }

  #newTray(group) {
    const tray = document.getElementById("tray").content.firstElementChild.cloneNode(true);
    tray.dataset.drop = group.id;
    tray.dataset.hue = (group.id - 1) % HUES; // by id: a group keeps its colour when others go
    this.trays.set(group.id, tray);
    return tray;
  }

  #forgetTraysExcept(groups) {
    const ids = new Set(groups.map((group) => group.id));
    for (const id of this.trays.keys()) if (!ids.has(id)) this.trays.delete(id);
  }

  // A list without options is no listbox: screen readers would announce an empty control.
  #fill(list, items) {
    arrange(list, items.map((id) => this.cards.get(id)));
    if (items.length) list.setAttribute("aria-multiselectable", "true");
    else list.removeAttribute("aria-multiselectable");
    list.setAttribute("role", items.length ? "listbox" : "group");
    keepOneTabStop(list);
  }

  // Moving a card in the document takes its focus away; a removed tray takes it with it.
  #refocus(element) {
    if (document.activeElement === element || element === document.body) return;
    if (element.isConnected) element.focus({ preventScroll: true });
    else this.focusSomewhere();
  }

  focusSomewhere() {
    (this.board.querySelector("[data-item][tabindex='0']") ?? document.getElementById("new-group")).focus();
  }
}
