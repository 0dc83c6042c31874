// The last moves, kept in this browser until they are saved. Storage may be blocked or full: every call may fail.

export class Keep {
  // `csrf` differs between projects and workers, which may share a browser and an address.
  constructor({ work, csrf }) {
    this.key = `modicum-${csrf.slice(0, 16)}-${work}`;
  }

  // {first, moves}, or null: nothing kept, or nothing that can be read.
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  // True when the moves are safe.
  write(first, moves) {
    try {
      if (moves.length) localStorage.setItem(this.key, JSON.stringify({ first, moves }));
      else localStorage.removeItem(this.key);
      return true;
    } catch {
      return false;
    }
  }
}

// Compares what moves do. The server may order the keys differently and drop the seconds.
function sameMove(a, b) {
  if ("to" in a || "to" in b) return a.to === b.to;
  const plain = (groups) => JSON.stringify(groups.map(({ id, name, items }) => [id, name, items]));
  return plain(a.groups) === plain(b.groups);
}

// The kept moves that continue the saved ones; null when they continue something else,
// because another window has gone on from the same point.
export function continuation(saved, kept) {
  if (!kept?.moves?.length) return [];
  const behind = saved.length - (kept.first - 1); // kept moves that the server already has
  if (behind < 0) return null;
  const known = kept.moves.slice(0, behind);
  const agrees = known.every((move, i) => sameMove(move, saved[kept.first - 1 + i]));
  return agrees ? kept.moves.slice(behind) : null;
}
