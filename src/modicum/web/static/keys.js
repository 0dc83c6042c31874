// Work by keyboard alone.
//
// Single keys act while the focus is on the board, in the enlarged view, or nowhere, as when the page opens;
// a letter typed in a text field stays a letter. Escape and keys with Ctrl (or Cmd) act on the whole page.

import { cardAt, idOf } from "./view.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const plain = (key) => (key.length === 1 ? key.toLowerCase() : key); // N is n, Enter stays Enter
const isTyping = (target) => target.matches("input, textarea, select");
const center = (element) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
};

// The nearest card in the direction [dx, dy]. A step sideways counts more than one ahead,
// so that the focus keeps to its row or column as long as it can.
export function neighbour(card, cards, [dx, dy]) {
  const [x, y] = center(card);
  let best = null;
  let least = Infinity;
  for (const other of cards) {
    const [u, v] = center(other);
    const ahead = (u - x) * dx + (v - y) * dy;
    const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    if (ahead > 2 && ahead + 3 * aside < least) [best, least] = [other, ahead + 3 * aside];
  }
  return best;
}

// The item to go on with once `items` are assigned: the next unsorted one after the last of them,
// from the top again at the end. An item taken from a tray is followed by the next of that tray.
export function successor(view, items, from) {
  const gone = new Set(items);
  const list = view.listOf(from);
  const at = list.indexOf(from);
  const isFree = (id) => !gone.has(id);
  return [...list.slice(at), ...list.slice(0, at)].find(isFree) ?? view.unsortedItems().find(isFree) ?? from;
}

export function listenToKeys({ board, view, selection, enlarge, openHelp, openSubmit }) {
  // On the body, on what the skip link leads to, or for a moment still in a dialog that has closed.
  const isNowhere = (target) => target.contains(view.board) || target.closest("dialog:not([open])") !== null;
  const isOnBoard = (target) => isNowhere(target) || view.board.contains(target);
  const focusedCard = () => cardAt(document.activeElement);

  function targets() {
    if (selection.size) return [...selection.ids];
    const card = focusedCard();
    return card ? [idOf(card)] : [];
  }

  // Assigns, then moves the focus to the item that comes next; if nothing has changed, it stays.
  function assign(action) {
    const items = targets();
    if (!items.length) return board.say("go to something with the arrow keys, or select it first", { visibly: true });
    const card = focusedCard();
    const next = card ? successor(view, items, idOf(card)) : view.unsortedItems().find((id) => !items.includes(id));
    const before = board.groups;
    action(items);
    if (board.groups === before) return;
    if (next === undefined) view.focusSomewhere();
    else view.focusItem(next);
  }

  function step(card, event) {
    const next = neighbour(card, view.cards.values(), ARROWS[event.key]);
    if (!next) return;
    next.focus();
    if (!event.shiftKey) return selection.startAt(idOf(next));
    if (selection.head !== idOf(card)) selection.startAt(idOf(card)); // the focus came here another way
    selection.extend(idOf(next), view.listOf(idOf(next)));
  }

  // Keys that need a card under the focus; elsewhere Enter and Space press buttons.
  const onCard = {
    Enter: (card) => selection.toggle(idOf(card)),
    " ": (card) => enlarge(idOf(card)),
    ...Object.fromEntries(Object.keys(ARROWS).map((key) => [key, step])),
  };

  const takeBack = () => assign((items) => board.takeBack(items));
  const onBoard = {
    n: () => (targets().length ? assign((items) => board.putInNew(items)) : board.putInNew([])),
    0: takeBack,
    Backspace: takeBack,
    Delete: takeBack,
    Escape: () => selection.clear(),
    "?": openHelp,
  };

  function boardKey(event) {
    const card = cardAt(event.target);
    const key = plain(event.key);
    if (card && onCard[key]) onCard[key](card, event);
    else if (isNowhere(event.target) && ARROWS[key]) view.focusSomewhere();
    else if (/^[1-9]$/.test(key)) assign((items) => board.putAt(Number(key), items));
    else if (onBoard[key]) onBoard[key]();
    else return;
    event.preventDefault();
  }

  const withCtrl = {
    z: (event) => (event.shiftKey ? board.redo() : board.undo()),
    y: () => board.redo(),
    Enter: openSubmit,
    a: () => selection.replace(view.unsortedItems()),
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const ctrl = event.ctrlKey || event.metaKey;
    if (ctrl && !event.altKey) {
      const action = withCtrl[plain(event.key)];
      if (!action) return;
      event.preventDefault();
      action(event);
    } else if (!ctrl && !event.altKey && (isOnBoard(event.target) || event.key === "Escape")) {
      boardKey(event);
    }
  });
}
