// The map of items: an SVG that is zoomed and moved. Places scale with the zoom, pictures less, so that they come apart.
// Items that would hide each other are moved apart a little.

import { enlarged } from "./owner.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 60; // pixels around the middles of items, when all are shown: there is room for numbers of clusters
const MOST_ZOOM = 60;
const GROWTH = 0.4; // pictures grow with this power of the zoom
const AT_ONCE = 12; // pictures that are loaded at a time
const COPY = 64; // pixels of small copies of pictures
const STEP = 1.35; // of a button or a key
const COVER = 0.14; // share of the map that items take
const ROUNDS = 80; // of moving items apart
const LETTERS = 0.25; // height of those of a text, of the side of a picture
const NUMBER = 15; // half the side of the number of a cluster, in pixels

const { items, hues } = JSON.parse(document.getElementById("map-data").textContent);
const IS_LARGE = items.length > 300; // pictures are small, and clusters large
const FRAME = IS_LARGE ? 0.14 : 0.08; // of the side of a picture
const map = document.getElementById("map");
const world = map.appendChild(document.createElementNS(SVG, "g"));
const numbers = map.appendChild(document.createElementNS(SVG, "g"));
const view = { zoom: 1, x: 0, y: 0 }; // the middle of the map is moved by x and y pixels
let width = 1, height = 1, side = 40, drawn = 0;

// ---- what is drawn ----------------------------------------------------------------------------------------

function make(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

// The beginning of a text that is no wider than `room`, in units of the height of its letters.
const pen = document.createElement("canvas").getContext("2d");
pen.font = `100px ${getComputedStyle(map).fontFamily}`;
function clipped(text, room) {
  const fits = (words) => pen.measureText(words).width / 100 <= room;
  if (fits(text)) return text;
  const letters = [...text].slice(0, 60);
  while (letters.length && !fits(`${letters.join("").trimEnd()}…`)) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

// A node has the size 1 and its middle at 0; texts are wider.
function makeNode(item) {
  const node = make("g", { class: "node", "data-hue": hues[item.cluster] });
  make("title", {}, node).textContent = item.name;
  [item.wide, item.high] = item.kind === "text" ? [2.4, 0.48] : [1, 1];
  const box = { x: -item.wide / 2, y: -item.high / 2, width: item.wide, height: item.high, rx: 0.06 };
  if (item.kind === "image") { // plain frames are drawn faster than strokes
    make("rect", { class: "frame", ...box, rx: 0 }, node);
    const inset = { x: FRAME - 0.5, y: FRAME - 0.5, width: 1 - 2 * FRAME, height: 1 - 2 * FRAME };
    item.picture = make("image", { ...inset, preserveAspectRatio: "xMidYMid slice" }, node);
    return node;
  }
  make("rect", { class: "ring", ...box }, node);
  const room = (item.wide - 0.24) / LETTERS;
  const [letters, words] = item.kind === "text" ? [LETTERS, clipped(item.text ?? item.name, room)] : [0.62, "♪"];
  make("text", { "font-size": letters }, node).textContent = words;
  return node;
}

const inOrder = [...items].sort((a, b) => a.sure - b.sure); // the surest on top
for (const item of inOrder) {
  item.node = makeNode(item);
  item.node.addEventListener("click", () => moved < 5 && choose(item));
}
world.append(...inOrder.map((item) => item.node));

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

const middles = hues.flatMap((hue, cluster) => {
  const own = items.filter((item) => item.cluster === cluster);
  if (!own.length) return [];
  const text = make("text", { class: "middle", "data-hue": hue }, numbers);
  text.textContent = cluster;
  return { cluster, text, own };
});

// Pictures are loaded a few at a time, the surest first, so that the page is usable meanwhile. Browsers draw many large
// pictures slowly, so small copies are drawn unless few are in sight.
const waiting = inOrder.filter((item) => item.picture && item.thumb);
const copies = document.createElement("canvas");
copies.width = copies.height = COPY;

async function load() {
  for (let item; (item = waiting.pop()); ) {
    const image = new Image();
    image.src = item.thumb;
    try {
      await image.decode();
    } catch {
      continue; // its ring and its name are there
    }
    item.copy = copied(image);
    item.picture.setAttribute("href", item.copy);
  }
}
Promise.all(Array.from({ length: AT_ONCE }, load)).then(sharpen);

function copied(image) {
  const { naturalWidth: w, naturalHeight: h } = image, least = Math.min(w, h);
  copies.getContext("2d").drawImage(image, (w - least) / 2, (h - least) / 2, least, least, 0, 0, COPY, COPY);
  return copies.toDataURL("image/jpeg", 0.85);
}

// Draw pictures in sight from the originals, where copies would be blurred.
function sharpen() {
  const size = devicePixelRatio * side * view.zoom ** GROWTH;
  const inSight = ({ at }) => [width, height].every((room, axis) => Math.abs(at[axis] * view.zoom + (axis ? view.y : view.x)) < room / 2 + size);
  for (const item of items) {
    if (!item.copy) continue;
    const wanted = size > COPY && inSight(item) ? item.thumb : item.copy;
    if (item.picture.getAttribute("href") !== wanted) item.picture.setAttribute("href", wanted);
  }
}

// ---- where it is drawn ------------------------------------------------------------------------------------

// Places of all items in pixels from the middle of the map, at zoom 1.
function arrange() {
  const [xs, ys] = ["x", "y"].map((axis) => items.map((item) => item[axis]));
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = [Math.max(1, width - 2 * MARGIN), Math.max(1, height - 2 * MARGIN)];
  const scale = Math.min(room[0] / Math.max(right - left, 1e-9), room[1] / Math.max(high - low, 1e-9), 4 * Math.max(...room));
  for (const item of items) item.at = [(item.x - (left + right) / 2) * scale, ((low + high) / 2 - item.y) * scale];
  side = Math.min(48, Math.max(10, Math.sqrt((COVER * width * height) / items.length)));
  for (let round = 0; round < ROUNDS && pushApart(); round++);
  const far = [0, 1].map((axis) => Math.max(1e-9, ...items.map((item) => Math.abs(item.at[axis]))) / (room[axis] / 2));
  const shrink = 1 / Math.max(1, ...far);
  for (const item of items) item.at = item.at.map((place) => place * shrink);
  const placed = [];
  for (const middle of middles) placed.push((middle.at = placeOf(middle, placed)));
}

// Where the number of a cluster is: near its median, and if there is such a place, where it hides no item, and where the
// nearest item is one of its own. Places apart at zoom 1 stay apart, since distances grow faster than pictures.
function placeOf({ cluster, own }, placed) {
  const center = [0, 1].map((axis) => median(own.map((item) => item.at[axis])));
  if (IS_LARGE) return center;
  const isInside = (at) => Math.abs(at[0]) < width / 2 - NUMBER && Math.abs(at[1]) < height / 2 - NUMBER;
  for (let away = 0; away < Math.max(width, height) / 3; away += 6) {
    for (let turn = 0; turn < 24; turn++) { // from above on
      const angle = (Math.PI / 12) * turn - Math.PI / 2;
      const at = [center[0] + away * Math.cos(angle), center[1] + away * Math.sin(angle)];
      if (isInside(at) && nearest(at)?.cluster === cluster && !placed.some((other) => isNear(at, other, NUMBER, NUMBER))) return at;
    }
  }
  return center;
}

// The item nearest to a place for a number, or null if the number would hide one.
function nearest(at) {
  let found = null, least = Infinity;
  for (const item of items) {
    if (isNear(at, item.at, (item.wide * side) / 2, (item.high * side) / 2)) return null;
    const distance = Math.hypot(at[0] - item.at[0], at[1] - item.at[1]);
    if (distance < least) [found, least] = [item, distance];
  }
  return found;
}

function isNear(number, at, halfWidth, halfHeight) {
  return Math.abs(number[0] - at[0]) < NUMBER + halfWidth && Math.abs(number[1] - at[1]) < NUMBER + halfHeight;
}

// Move items that overlap apart; whether there were any.
function pushApart() {
  const cells = new Map(), cell = side * Math.max(...items.map((item) => item.wide));
  let found = false;
  for (const item of items) {
    const [column, row] = item.at.map((place) => Math.round(place / cell));
    for (let dx = -1; dx <= 1; dx++) {
      for (let dy = -1; dy <= 1; dy++) {
        for (const other of cells.get(`${column + dx},${row + dy}`) ?? []) found = separate(item, other) || found;
      }
    }
    const key = `${column},${row}`;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(item);
  }
  return found;
}

function separate(one, other) {
  const apart = [0, 1].map((axis) => one.at[axis] - other.at[axis]);
  const short = [one.wide + other.wide, one.high + other.high].map((sum, axis) => 0.53 * side * sum - Math.abs(apart[axis]));
  if (short[0] <= 0.5 || short[1] <= 0.5) return false;
  let by;
  if (one.wide === one.high && other.wide === other.high) { // as discs, so that clusters become round
    const distance = Math.hypot(...apart) || 1e-9;
    const missing = 1.1 * side - distance;
    if (missing <= 0.5) return false;
    by = distance > 1e-6 ? apart.map((part) => (part / distance) * missing * 0.3) : [0.5, 0.5];
  } else {
    const axis = short[0] < short[1] ? 0 : 1;
    by = [0, 0];
    by[axis] = 0.3 * short[axis] * (Math.sign(apart[axis]) || 1);
  }
  for (const axis of [0, 1]) {
    one.at[axis] += by[axis];
    other.at[axis] -= by[axis];
  }
  return true;
}

let resized = true, asked = false, settled = 0;
function draw() {
  if (!asked) requestAnimationFrame(paint);
  asked = true;
  clearTimeout(settled);
  settled = setTimeout(sharpen, 200);
}

function paint() {
  asked = false;
  world.setAttribute("transform", `translate(${width / 2 + view.x} ${height / 2 + view.y})`);
  numbers.setAttribute("transform", `translate(${width / 2 + view.x} ${height / 2 + view.y})`);
  if (drawn === view.zoom && !resized) return; // moved only
  const size = side * view.zoom ** GROWTH;
  for (const item of items) {
    const [x, y] = item.at.map((place) => place * view.zoom);
    item.node.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size.toFixed(2)})`);
  }
  for (const middle of middles) {
    middle.text.setAttribute("x", (middle.at[0] * view.zoom).toFixed(1));
    middle.text.setAttribute("y", (middle.at[1] * view.zoom).toFixed(1));
  }
  drawn = view.zoom;
  resized = false;
}

function resize() {
  ({ width, height } = map.getBoundingClientRect());
  arrange();
  world.setAttribute("stroke-width", side < 24 ? 2 : 3);
  resized = true;
  draw();
}
resize(); // at once: items may be looked for before the first frame
new ResizeObserver(() => {
  const now = map.getBoundingClientRect();
  if (now.width !== width || now.height !== height) resize();
}).observe(map);

function zoomBy(factor, x = 0, y = 0) { // the point at x, y pixels from the middle stays
  const zoom = Math.min(MOST_ZOOM, Math.max(0.5, view.zoom * factor));
  const by = zoom / view.zoom;
  view.x = x - (x - view.x) * by;
  view.y = y - (y - view.y) * by;
  view.zoom = zoom;
  draw();
}

function moveBy(x, y) {
  view.x += x;
  view.y += y;
  draw();
}

function showAll() {
  Object.assign(view, { zoom: 1, x: 0, y: 0 });
  draw();
}

// ---- mouse, fingers and keys ------------------------------------------------------------------------------

const pointers = new Map();
let moved = 0; // pixels since the pointer went down: a click moves less than 5

function fromMiddle(event) {
  const box = map.getBoundingClientRect();
  return [event.clientX - box.left - width / 2, event.clientY - box.top - height / 2];
}

map.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoomBy(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 400), ...fromMiddle(event));
}, { passive: false });

map.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  if (!pointers.size) moved = 0;
  pointers.set(event.pointerId, fromMiddle(event));
});

map.addEventListener("pointermove", (event) => {
  const old = pointers.get(event.pointerId);
  if (!old) return;
  const now = fromMiddle(event);
  moved += Math.hypot(now[0] - old[0], now[1] - old[1]);
  if (moved >= 5 && !map.hasPointerCapture(event.pointerId)) map.setPointerCapture(event.pointerId);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    const apart = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
    zoomBy(apart(now) / apart(old), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    moveBy((now[0] - old[0]) / 2, (now[1] - old[1]) / 2);
  } else {
    moveBy(now[0] - old[0], now[1] - old[1]);
  }
  pointers.set(event.pointerId, now);
});

for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, (event) => pointers.delete(event.pointerId));
}

map.addEventListener("dblclick", (event) => zoomBy(2, ...fromMiddle(event)));

const KEYS = {
  "+": () => zoomBy(STEP),
  "=": () => zoomBy(STEP),
  "-": () => zoomBy(1 / STEP),
  0: showAll,
  ArrowLeft: () => moveBy(80, 0),
  ArrowRight: () => moveBy(-80, 0),
  ArrowUp: () => moveBy(0, 80),
  ArrowDown: () => moveBy(0, -80),
};
map.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.getElementById("zoom-in").addEventListener("click", () => zoomBy(STEP));
document.getElementById("zoom-out").addEventListener("click", () => zoomBy(1 / STEP));
document.getElementById("zoom-all").addEventListener("click", showAll);

// ---- one cluster ------------------------------------------------------------------------------------------

const buttons = [...document.querySelectorAll(".legend button")];
for (const button of buttons) {
  button.addEventListener("click", () => light(button.getAttribute("aria-pressed") === "true" ? null : Number(button.dataset.cluster)));
}

function light(cluster) {
  for (const button of buttons) button.setAttribute("aria-pressed", Number(button.dataset.cluster) === cluster);
  map.classList.toggle("lit", cluster !== null);
  for (const item of items) item.node.classList.toggle("in", item.cluster === cluster);
  for (const middle of middles) middle.text.classList.toggle("in", middle.cluster === cluster);
}

// ---- one item ---------------------------------------------------------------------------------------------

const detail = document.getElementById("detail");
let chosen = null;

function choose(item) {
  chosen?.node.classList.remove("chosen");
  chosen = item;
  item.node.classList.add("chosen");
  world.append(item.node); // above its neighbours
  document.getElementById("detail-media").replaceChildren(enlarged(item));
  document.getElementById("detail-name").textContent = item.name;
  const badge = Object.assign(document.createElement("span"), { className: "badge", textContent: item.cluster });
  badge.dataset.hue = hues[item.cluster];
  const sure = item.sure >= 0.995 ? "over 99%" : `${Math.round(100 * item.sure)}%`;
  document.getElementById("detail-facts").replaceChildren("cluster", badge, `probability ${sure}`);
  detail.hidden = false;
}

function close() {
  chosen?.node.classList.remove("chosen");
  chosen = null;
  detail.hidden = true;
  document.getElementById("detail-media").replaceChildren(); // ends sounds
  map.focus();
}
document.getElementById("detail-close").addEventListener("click", close);
addEventListener("keydown", (event) => event.key === "Escape" && !detail.hidden && close());

const field = document.getElementById("find-name");
document.getElementById("names").append(...items.map((item) => Object.assign(document.createElement("option"), { value: item.name })));
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = field.value.trim().toLowerCase();
  const found = items.find((item) => item.name.toLowerCase() === typed) ?? items.find((item) => typed && item.name.toLowerCase().includes(typed));
  field.setCustomValidity(found ? "" : "There is no such item on the map.");
  if (!found) return field.reportValidity();
  choose(found);
  view.zoom = Math.max(view.zoom, 3);
  const [x, y] = found.at;
  const covered = detail.offsetWidth > width / 2 ? detail.offsetHeight : 0; // at the bottom, on a phone
  Object.assign(view, { x: -x * view.zoom, y: -y * view.zoom - covered / 2 });
  draw();
});
field.addEventListener("input", () => field.setCustomValidity(""));
