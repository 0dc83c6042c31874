// The items a worker has selected, and the range from an anchor to a head.

export class Selection {
  ids = new Set();
  anchor = null; // where a range starts
  head = null; // where it ends: a range goes on only from there
  #range = []; // what the range from the anchor has added; it may shrink again

  constructor(changed) {
    this.changed = changed;
  }

  get size() { return this.ids.size; }
  has(id) { return this.ids.has(id); }

  startAt(id) {
    this.anchor = this.head = id;
    this.#range = [];
  }

  toggle(id) {
    if (!this.ids.delete(id)) this.ids.add(id);
    this.startAt(id);
    this.changed();
  }

  // Selects from the anchor to `id` in `order`, the items of one list.
  // From an anchor in another list there is no range: then it starts at `id`.
  extend(id, order) {
    if (!order.includes(this.anchor)) this.startAt(id);
    const [start, end] = [order.indexOf(this.anchor), order.indexOf(id)].sort((a, b) => a - b);
    for (const other of this.#range) this.ids.delete(other);
    this.head = id;
    this.#range = order.slice(start, end + 1);
    for (const other of this.#range) this.ids.add(other);
    this.changed();
  }

  replace(ids) {
    this.ids = new Set(ids);
    this.startAt(null);
    this.changed();
  }

  clear() {
    if (this.ids.size) this.replace([]);
  }
}
