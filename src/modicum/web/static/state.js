// The groups a worker makes, and the line of undo and redo. Pure: no page, no server.
//
// A state is a list of groups {id, name, items}. A state is never changed, only replaced;
// a function that has nothing to do returns the very state it was given.

export const groupOf = (groups, item) => groups.find((group) => group.items.includes(item));

export const placedItems = (groups) => groups.flatMap((group) => group.items);

function without(groups, items) {
  const gone = new Set(items);
  return groups.map((group) => ({ ...group, items: group.items.filter((item) => !gone.has(item)) }));
}

function change(groups, id, edit) {
  return groups.map((group) => (group.id === id ? { ...group, ...edit(group) } : group));
}

export function put(groups, items, id) {
  const moving = items.filter((item) => groupOf(groups, item)?.id !== id);
  if (!moving.length) return groups;
  return change(without(groups, moving), id, (group) => ({ items: [...group.items, ...moving] }));
}

export function putInNew(groups, items, id) {
  return [...without(groups, items), { id, name: "", items: [...items] }];
}

export function putEachAlone(groups, items, firstId) {
  const alone = items.map((item, i) => ({ id: firstId + i, name: "", items: [item] }));
  return [...without(groups, items), ...alone];
}

export function takeBack(groups, items) {
  return items.some((item) => groupOf(groups, item)) ? without(groups, items) : groups;
}

export function rename(groups, id, name) {
  const same = groups.find((group) => group.id === id)?.name === name;
  return same ? groups : change(groups, id, () => ({ name }));
}

export function remove(groups, id) {
  return groups.filter((group) => group.id !== id);
}

// The group that receives the items keeps its name; without one it takes the other's.
export function merge(groups, from, into) {
  const source = groups.find((group) => group.id === from);
  if (!source || from === into) return groups;
  return change(remove(groups, from), into, (group) => ({
    name: group.name || source.name,
    items: [...group.items, ...source.items],
  }));
}

// All moves of a piece of work. Undo and redo are moves too ({to: number}), so that
// reading the saved moves again rebuilds the whole line.
export class Timeline {
  states = [[]]; // states[n]: the groups after move n
  line = [0]; // numbers of the moves that undo and redo step through
  at = 0; // where on the line we are
  lastId = 0; // ids of groups are never reused, also not after undo

  get groups() { return this.states.at(-1); }
  get undoNumber() { return this.line[this.at - 1]; }
  get redoNumber() { return this.line[this.at + 1]; }

  add(move) {
    if ("to" in move) this.#goTo(move.to);
    else this.#append(move.groups);
  }

  #goTo(number) {
    const at = this.line.indexOf(number);
    if (at < 0) throw new RangeError(`move ${number} cannot be reached by undo or redo`);
    this.at = at;
    this.states.push(this.states[number]);
  }

  #append(groups) {
    this.line = [...this.line.slice(0, this.at + 1), this.states.length];
    this.at += 1;
    this.states.push(groups);
    this.lastId = Math.max(this.lastId, ...groups.map((group) => group.id));
  }
}
