// One card per item: a thumbnail, the beginning of a text, or the name of a sound with a play sign.

const EAGER = 24; // about what a phone shows at first; the rest may load lazily

const FACES = {
  image(card, item, i) {
    const img = card.querySelector("img");
    img.loading = i < EAGER ? "eager" : "lazy";
    img.src = item.thumb;
  },
  text(card, item) {
    card.querySelector(".words").textContent = item.text;
  },
  audio(card, item) {
    const words = card.querySelector(".words");
    words.append(...breakable(item.name));
    words.title = item.name; // it may be cut off
  },
};

// The name of a file, with places where a line may break: before an ending and between words.
function breakable(name) {
  return name.split(/(?=[._-])/).flatMap((part) => [document.createElement("wbr"), part]);
}

export function makeCard(item, i, label) {
  const card = document.getElementById(`${item.kind}-card`).content.firstElementChild.cloneNode(true);
  card.dataset.item = item.id;
  card.setAttribute("aria-label", label);
  FACES[item.kind](card, item, i);
  return card;
}

// Plays one sound at a time; the same sound again stops it.
export class Player {
  audio = new Audio();

  constructor() {
    this.audio.addEventListener("ended", () => this.stop());
  }

  toggle(card, url) {
    const again = this.card === card;
    this.stop();
    if (again) return;
    this.card = card;
    card.classList.add("playing");
    this.audio.src = url;
    this.audio.play().catch((error) => {
      if (error.name !== "AbortError") this.stop(); // missing or of an unknown kind; aborted: another one plays by now
    });
  }

  stop() {
    this.audio.pause();
    this.card?.classList.remove("playing");
    this.card = null;
  }
}
