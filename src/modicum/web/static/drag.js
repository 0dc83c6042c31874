// Drag with mouse, pen or finger: items to a tray, or the head of a tray onto another tray.

import { cardAt, idOf } from "./view.js";

const MOUSE_DISTANCE = 5; // px before a press becomes a drag
const FINGER_DISTANCE = 10; // px a finger may tremble during a long press
const LONG_PRESS = 300; // ms; a shorter touch scrolls or taps
const EDGE = 48; // px from the edge of a region where it starts to scroll
const SPEED = 0.25; // px per frame and px of depth in the edge

export function listenToDrags({ board, view, selection, enlarge }) {
  let press = null; // {x, y, source, card, timer, dragging}

  // What a press on `target` would drag: items or a group.
  function sourceAt(target) {
    const card = cardAt(target);
    if (card) {
      const id = idOf(card);
      return { items: selection.has(id) ? [...selection.ids] : [id], element: card };
    }
    const head = target.closest(".tray .put");
    return head && { group: Number(head.closest(".tray").dataset.drop), element: head };
  }

  function start(event) {
    if (event.button !== 0 || !event.isPrimary || event.target.closest(".play, .more")) return;
    const source = sourceAt(event.target);
    if (!source) return;
    press = { x: event.clientX, y: event.clientY, source, touch: event.pointerType === "touch" };
    if (press.touch) press.timer = setTimeout(() => lift(), LONG_PRESS);
  }

  function move(event) {
    if (!press || !event.isPrimary) return;
    const distance = Math.hypot(event.clientX - press.x, event.clientY - press.y);
    press.moved ||= distance > (press.touch ? FINGER_DISTANCE : MOUSE_DISTANCE);
    if (!press.ghost && press.moved) {
      if (press.touch) return cancel(); // the finger moved early: it scrolls
      lift();
    }
    if (press.ghost) follow(event.clientX, event.clientY);
  }

  function lift() {
    press.ghost = makeGhost(press.source);
    document.body.classList.add("dragging");
    for (const id of press.source.items ?? []) view.cards.get(id).classList.add("lifted");
    navigator.vibrate?.(10);
    follow(press.x, press.y);
    press.frame = requestAnimationFrame(scrollAtEdges);
  }

  function follow(x, y) {
    Object.assign(press, { atX: x, atY: y });
    press.ghost.style.transform = `translate(${x}px, ${y}px)`;
    aimAt(placeAt(x, y));
  }

  // The place under the pointer that could take what is dragged.
  function placeAt(x, y) {
    const place = document.elementFromPoint(x, y)?.closest("[data-drop]");
    if (!place || press.source.items) return place;
    const isOther = place.matches(".tray") && Number(place.dataset.drop) !== press.source.group;
    return isOther ? place : null;
  }

  function aimAt(place) {
    if (press.place === place) return;
    press.place?.classList.remove("aimed");
    place?.classList.add("aimed");
    press.place = place;
  }

  function scrollAtEdges() {
    if (!press?.ghost) return;
    const region = document.elementFromPoint(press.atX, press.atY)?.closest(".scrolls");
    if (region) {
      const { top, bottom } = region.getBoundingClientRect();
      region.scrollTop += SPEED * (Math.max(0, press.atY - bottom + EDGE) - Math.max(0, top + EDGE - press.atY));
      aimAt(placeAt(press.atX, press.atY));
    }
    press.frame = requestAnimationFrame(scrollAtEdges);
  }

  function drop(event) {
    if (!press || !event.isPrimary) return;
    const { source, ghost, place, moved, touch } = press;
    cancel();
    if (!ghost) return;
    swallowClick(event.clientX, event.clientY);
    if (touch && !moved && source.items) enlarge(idOf(source.element));
    else if (!place) return;
    else if (source.items) board.putOn(place.dataset.drop, source.items);
    else board.merge(source.group, Number(place.dataset.drop));
  }

  function cancel() {
    if (!press) return;
    clearTimeout(press.timer);
    cancelAnimationFrame(press.frame);
    press.ghost?.remove();
    press.place?.classList.remove("aimed");
    for (const id of press.source.items ?? []) view.cards.get(id).classList.remove("lifted");
    document.body.classList.remove("dragging");
    press = null;
  }

  // The browser may send a click after the drag, at the same point; it would select the item again.
  function swallowClick(x, y) {
    const swallow = (event) => {
      if (Math.hypot(event.clientX - x, event.clientY - y) > 1) return;
      event.stopPropagation();
      event.preventDefault();
    };
    window.addEventListener("click", swallow, { capture: true });
    setTimeout(() => window.removeEventListener("click", swallow, { capture: true }), 50);
  }

  view.board.addEventListener("pointerdown", start);
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", drop);
  window.addEventListener("pointercancel", cancel);
  window.addEventListener("blur", cancel);
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !press?.ghost) return;
    event.stopPropagation(); // Escape ends the drag and leaves the selection alone
    cancel();
  }, { capture: true });

  // Once an item is lifted the finger drags; the browser must neither scroll nor open its menu.
  const hold = (event) => { if (press?.ghost && event.cancelable) event.preventDefault(); };
  document.addEventListener("touchmove", hold, { passive: false });
  view.board.addEventListener("contextmenu", (event) => { if (press?.touch) event.preventDefault(); });
  view.board.addEventListener("dragstart", (event) => event.preventDefault());
}

// A copy of what is dragged, under the pointer, with the number of items.
function makeGhost({ element, items = [] }) {
  const ghost = document.createElement("div");
  ghost.className = "ghost";
  ghost.setAttribute("aria-hidden", "true");
  const copy = element.cloneNode(true);
  copy.removeAttribute("role");
  copy.removeAttribute("data-item");
  copy.querySelector(".here")?.remove(); // "Put here" is for the trays that stay
  copy.style.width = `${element.offsetWidth}px`;
  copy.style.height = `${element.offsetHeight}px`;
  ghost.append(copy);
  if (items.length > 1) ghost.dataset.count = items.length;
  document.body.append(ghost);
  return ghost;
}
