// The enlarged view of one item, with everything needed to sort it from there.

import { groupOf } from "./state.js";

export class Look {
  constructor({ board, view, words, player }) {
    Object.assign(this, { board, view, words, player });
    this.dialog = document.getElementById("look");
    this.body = this.dialog.querySelector(".look-body");
    this.places = this.dialog.querySelector(".look-places");
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
    this.dialog.addEventListener("close", () => this.#closed());
    this.dialog.addEventListener("click", ({ target }) => this.#click(target));
  }

  open(id) {
    this.player.stop();
    this.#show(id);
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.focus(); // not on a button, where Space would press it
  }

  #show(id) {
    const isNew = id !== this.id;
    this.id = id;
    const { order } = this.view;
    if (isNew) this.body.replaceChildren(enlarged(this.words.items.get(id)));
    this.dialog.querySelector("h2").textContent = `${this.words.item(id)} of ${order.length}`;
    this.#showPlaces();
  }

  #showPlaces() {
    const { groups } = this.board;
    const own = groupOf(groups, this.id);
    const buttons = groups.map((group, i) => placeButton(group.id, i + 1, group.name || `Group ${i + 1}`, own === group));
    this.places.replaceChildren(...buttons);
    this.dialog.querySelector("[data-place=unsorted]").setAttribute("aria-pressed", !own);
  }

  #step(by) {
    const { order } = this.view;
    this.#show(order[(order.indexOf(this.id) + by + order.length) % order.length]);
  }

  // Assigns this item. A first assignment goes on to the next unsorted item; a correction stays.
  #assign(action) {
    const wasUnsorted = !groupOf(this.board.groups, this.id);
    action([this.id]);
    const isSorted = groupOf(this.board.groups, this.id);
    const { order } = this.view;
    const at = order.indexOf(this.id);
    const left = new Set(this.board.unsorted);
    const next = [...order.slice(at), ...order.slice(0, at)].find((id) => left.has(id));
    this.#show(wasUnsorted && isSorted && next !== undefined ? next : this.id);
    this.dialog.focus();
  }

  #click(target) {
    const step = target.closest("[data-step]");
    const place = target.closest("[data-place]");
    if (step) this.#step(Number(step.dataset.step));
    else if (place) this.#assign((items) => this.board.putOn(place.dataset.place, items));
    else if (target === this.dialog) this.dialog.close(); // the backdrop
  }

  #key(event) {
    if (event.altKey || event.target.closest("audio")) return;
    const { board } = this;
    const isOnButton = event.target.closest("button");
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) {
      if (key !== "z" && key !== "y") return;
      if (key === "y" || event.shiftKey) board.redo();
      else board.undo();
      this.#show(this.id);
    } else if (key === "arrowright" || key === "arrowdown") this.#step(1);
    else if (key === "arrowleft" || key === "arrowup") this.#step(-1);
    else if (/^[1-9]$/.test(key)) this.#assign((items) => board.putAt(Number(key), items));
    else if (key === "n") this.#assign((items) => board.putInNew(items));
    else if (["0", "backspace", "delete"].includes(key)) this.#assign((items) => board.takeBack(items));
    else if (key === " " && !isOnButton) this.dialog.close();
    else return;
    event.preventDefault();
  }

  #closed() {
    if (this.dialog.open) return; // keys are heard before this event: it may show another item by now
    this.body.replaceChildren(); // stops a sound that is playing
    this.view.focusItem(this.id);
    this.id = null;
  }
}

function enlarged(item) {
  const show = { image: enlargedImage, text: enlargedText, audio: enlargedAudio }[item.kind];
  return show(item);
}

function enlargedImage({ full, alt }) {
  const img = new Image();
  img.alt = alt;
  img.src = full;
  return img;
}

function enlargedText({ text }) {
  const p = document.createElement("p");
  p.className = "look-text";
  p.dir = "auto";
  p.textContent = text;
  return p;
}

function enlargedAudio({ full, name }) {
  const figure = document.createElement("figure");
  const audio = document.createElement("audio");
  Object.assign(audio, { controls: true, autoplay: true, src: full });
  audio.setAttribute("aria-label", name);
  const caption = document.createElement("figcaption");
  caption.textContent = name;
  figure.append(audio, caption);
  return figure;
}

function placeButton(id, number, name, isHere) {
  const button = document.getElementById("place").content.firstElementChild.cloneNode(true);
  button.dataset.place = id;
  button.dataset.hue = (id - 1) % 8;
  button.setAttribute("aria-pressed", isHere);
  button.querySelector(".badge").textContent = number;
  button.querySelector(".name").textContent = name;
  button.querySelector(".name").title = name; // it may be cut off
  return button;
}
