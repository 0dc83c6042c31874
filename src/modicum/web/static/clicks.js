// Work by click or tap: select items, then choose a tray. Plain clicks are enough for everything.

import { cardAt, idOf } from "./view.js";

export function listenToClicks({ board, view, selection, player, items, openGroup, enlarge, say }) {
  const selected = () => [...selection.ids];

  // While items are selected, a whole tray is one target, its cards included; otherwise a full tray
  // would leave hardly any room to hit. With Ctrl or Shift, or in the tray of the selection itself,
  // a click on a card selects.
  function isTargetOf(tray, event) {
    if (!selection.size || event.ctrlKey || event.metaKey || event.shiftKey) return false;
    const inside = new Set([...tray.querySelectorAll("[data-item]")].map(idOf));
    return !selected().some((id) => inside.has(id));
  }

  function clickCard(card, event) {
    const id = idOf(card);
    if (event.target.closest(".play")) player.toggle(card, items.get(id).full);
    else if (event.shiftKey) selection.extend(id, view.listOf(id));
    else selection.toggle(id);
    card.focus({ preventScroll: true });
  }

  function clickPlace(place) {
    const target = place.dataset.drop;
    if (selection.size) board.putOn(target, selected());
    else if (target === "new") board.putInNew([]);
    else if (target !== "unsorted") say("select something first, then choose a group", { visibly: true });
  }

  view.board.addEventListener("click", (event) => {
    const card = cardAt(event.target);
    const place = event.target.closest("[data-drop]");
    const button = event.target.closest("button");
    if (button?.matches(".more")) openGroup(Number(place.dataset.drop));
    else if (button && !button.matches(".put")) return; // the buttons of the selection have their own listeners
    else if (card && !(place.matches(".tray") && isTargetOf(place, event))) clickCard(card, event);
    else if (place) clickPlace(place);
  });

  // The two clicks before have selected and unselected the item.
  view.board.addEventListener("dblclick", (event) => {
    const card = cardAt(event.target);
    if (card && !event.target.closest(".play")) enlarge(idOf(card));
  });
}
