// Small helpers of the owner's pages: local times, copying, enlarging, filtering, and progress.

for (const time of document.querySelectorAll("time")) {
  const moment = new Date(time.dateTime);
  time.title = time.textContent;
  time.textContent = moment.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

// ---- copying ----------------------------------------------------------------------------------------------

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea"); // without https there is no clipboard
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

for (const button of document.querySelectorAll(".copy")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await copy(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = words), 1500);
  });
}

// ---- forms ------------------------------------------------------------------------------------------------

for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    setTimeout(() => (button.disabled = true)); // not twice: planning takes seconds
  });
}
addEventListener("pageshow", (event) => event.persisted && location.reload());

const sum = document.querySelector("#task-sum");
if (sum) {
  const numbers = ["task-size", "redundancy", "answers-per-task"].map((id) => document.getElementById(id));
  const tell = () => {
    const [size, times, answers] = numbers.map((field) => Number(field.value));
    const tasks = Math.ceil((times * sum.dataset.items) / size);
    const known = Number.isFinite(tasks) && tasks > 0 && answers > 0;
    sum.textContent = known ? `That makes about ${counted(tasks, "task")} and ${counted(tasks * answers, "answer")}.` : "";
  };
  numbers.forEach((field) => field.addEventListener("input", tell));
  tell();
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

// ---- one item, enlarged -----------------------------------------------------------------------------------

export function enlarged({ kind, name, text, full }) {
  if (kind === "image") return Object.assign(new Image(), { src: full, alt: "" }); // its name is beside it
  if (kind === "audio") return Object.assign(new Audio(full), { controls: true });
  return Object.assign(document.createElement("p"), { className: "said", textContent: text ?? name, dir: "auto" });
}

const large = document.querySelector("#large");
if (large) {
  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      large.querySelector("#large-name").textContent = tile.dataset.name;
      large.querySelector("#large-media").replaceChildren(enlarged(tile.dataset));
      large.querySelector("#large-sure").textContent = `Probability of the cluster: ${tile.dataset.sure}`;
      large.showModal();
    });
  }
  large.addEventListener("click", ({ target }) => (target === large || target.closest("[data-closes]")) && large.close());
  large.addEventListener("close", () => large.open || large.querySelector("#large-media").replaceChildren()); // ends sounds
}

// ---- some workers of many ---------------------------------------------------------------------------------

const filter = document.querySelector("#filter");
if (filter) {
  const rows = [...document.querySelectorAll(".table.long tbody tr")];
  const told = rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent.toLowerCase()).join(" ")); // name, flags, code
  filter.hidden = false;
  filter.addEventListener("input", ({ target }) => {
    const words = target.value.trim().toLowerCase();
    rows.forEach((row, at) => (row.hidden = !told[at].includes(words)));
    const n = rows.filter((row) => !row.hidden).length;
    document.querySelector("#filter-count").textContent = n < rows.length ? `${n} of ${counted(rows.length, "worker")}` : "";
  });
}

// ---- progress and the fit ---------------------------------------------------------------------------------

const fit = document.querySelector("#fit");
if (fit) watch();

async function watch() {
  const at = (id) => document.getElementById(`fit-${id}`);
  const fields = [...document.querySelectorAll("form :is(input, select, textarea)")];
  const isTyping = () => fields.some((field) => field === document.activeElement || isChanged(field));
  let wasRunning = !at("busy").hidden;
  sayLater(at("said"));
  for (;;) {
    await new Promise((done) => setTimeout(done, wasRunning ? 1000 : 5000));
    if (document.hidden) continue;
    const [now, progress] = await Promise.all([ask("/owner/fit.json"), ask("/owner/progress.json")]);
    if (!now || !progress) continue;
    showProgress(progress);
    at("busy").hidden = !now.running;
    at("idle").hidden = now.running;
    at("share").value = now.share;
    at("words").textContent = now.words || "starting";
    at("seconds").textContent = `${Math.round(now.seconds)} s`;
    at("news").textContent = now.news;
    at("now").disabled = !now.fit && !now.new_answers;
    at("error").hidden = !now.error;
    at("error").textContent = now.error ?? "";
    const isFitted = (now.fit ?? 0) !== Number(fit.dataset.fit);
    const isFirst = now.new_answers > 0 && !document.querySelector(".histogram");
    if (isFitted || isFirst) { // that changes much of the page
      at("ready").hidden = false;
      if (!isTyping()) return reload(isFitted ? "The fit is done. The map is ready." : "The first answers are here.");
    }
    if (wasRunning && now.error) at("said").textContent = `The fit failed. ${now.error}`;
    if (!wasRunning && now.running) at("said").textContent = "A fit has begun.";
    wasRunning = now.running;
  }
}

// Whether a field differs from what the server gave: people may have typed before this script was there.
function isChanged(field) {
  return field.matches("select") ? field.selectedIndex > 0 : field.value !== field.defaultValue;
}

// What the server says, or null: it may be back soon.
async function ask(path) {
  try {
    const answer = await fetch(path);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function showProgress(progress) {
  for (const place of document.querySelectorAll("[data-now]")) {
    const value = progress[place.dataset.now];
    if (place.matches("rect")) place.setAttribute("width", value);
    else place.textContent = value;
  }
}

// Screen readers are told of what changes on a page, not of a new page.
function reload(words) {
  sessionStorage.setItem("said", words);
  location.reload();
}

function sayLater(place) {
  const words = sessionStorage.getItem("said");
  sessionStorage.removeItem("said");
  if (words) setTimeout(() => (place.textContent = words), 500);
}
