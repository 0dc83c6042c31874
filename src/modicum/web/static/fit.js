// What fits: the size of the cards in the unsorted area, and the instruction above.

const SHAPES = {
  picture: { ratio: 1, min: 44, max: 150 }, // 44 px: the smallest comfortable target
  card: { ratio: 0.56, min: 108, max: 220 }, // ratio: height over width
};

// The largest width at which `n` cards show without scrolling; never below the minimum.
export function cardWidth(n, width, height, gap, { ratio, min, max }) {
  const mostColumns = Math.max(1, Math.floor((width + gap) / (min + gap)));
  const widthOf = (columns) => Math.floor((width - gap * (columns - 1)) / columns);
  for (let columns = 1; columns < mostColumns; columns += 1) {
    const card = Math.min(widthOf(columns), max);
    const rows = Math.ceil(n / columns);
    if (rows * Math.ceil(card * ratio) + (rows - 1) * gap <= height) return card;
  }
  return Math.min(widthOf(mostColumns), max);
}

function linesIn(height, { lineHeight, marginTop, marginBottom }) {
  return Math.floor((height - parseFloat(marginTop) - parseFloat(marginBottom)) / parseFloat(lineHeight));
}

// Counts all items of the task, sorted or not: cards that grew while one works would be hard to follow.
export function keepFitting(list, items) {
  const shape = items.every((item) => item.kind === "image") ? SHAPES.picture : SHAPES.card;
  const words = document.querySelector("#board .words");
  const fit = ({ width, height }) => {
    if (!width) return; // hidden while nothing is unsorted
    const gap = parseFloat(getComputedStyle(list).columnGap);
    const card = cardWidth(items.length, width, height, gap, shape);
    list.style.setProperty("--card", `${card}px`);
    const cardHeight = Math.ceil(card * shape.ratio);
    list.style.setProperty("--card-height", `${cardHeight}px`);
    if (words) list.style.setProperty("--lines", linesIn(cardHeight, getComputedStyle(words)));
  };
  // Not clientWidth: rounded up, the last column would not fit.
  new ResizeObserver(([{ contentRect }]) => fit(contentRect)).observe(list);
}

// Shows `button` while `text` is cut off.
export function keepOffering(button, text) {
  new ResizeObserver(() => { button.hidden = text.scrollHeight <= text.clientHeight; }).observe(text);
}
