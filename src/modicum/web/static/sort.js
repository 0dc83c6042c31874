// The sorting page: reads the task, puts the parts together, and starts.

import { Board } from "./board.js";
import { Player } from "./cards.js";
import { listenToClicks } from "./clicks.js";
import { activeClock } from "./clock.js";
import { GroupDialog, SubmitDialog, listenToDialogs, tellAndLeave } from "./dialogs.js";
import { listenToDrags } from "./drag.js";
import { keepFitting, keepOffering } from "./fit.js";
import { continuation, Keep } from "./keep.js";
import { listenToKeys } from "./keys.js";
import { Look } from "./look.js";
import { Saving } from "./saving.js";
import { Selection } from "./selection.js";
import { Timeline } from "./state.js";
import { clearHint, say, showMark } from "./status.js";
import { View } from "./view.js";
import { Words } from "./words.js";

const OTHER_WINDOW = [
  "Changed in another window",
  "This pile was changed in another window or on another device. The page now shows that newer state.",
];
const SUBMITTED = ["Already submitted", "This pile was submitted before. You can go on with the next one."];

function end(reason, error) {
  if (reason === "submitted") tellAndLeave(...SUBMITTED, "/sort");
  else if (reason === "refused") tellAndLeave("Not saved", `${error ?? "The server refused your last moves."} The page now shows what is saved.`);
  else tellAndLeave(...OTHER_WINDOW);
}

function replay(moves) {
  const timeline = new Timeline();
  for (const move of moves) timeline.add(move);
  return timeline;
}

// The saved moves, and on top of them those kept in this browser if they fit.
function rebuild(task, keep) {
  try {
    const pending = continuation(task.moves, keep.read());
    if (pending) return { timeline: replay([...task.moves, ...pending]), pending };
  } catch (error) {
    console.warn("What this browser kept cannot be read; it is dropped.", error);
  }
  keep.write(0, []);
  return { timeline: replay(task.moves), pending: [], isLost: true };
}

function start() {
  const task = JSON.parse(document.getElementById("task").textContent);
  const keep = new Keep(task);
  const { timeline, pending, isLost } = rebuild(task, keep);
  const seconds = activeClock(task.seconds);
  const words = new Words(task.items);
  const view = new View(task, words);
  const selection = new Selection(() => {
    if (selection.size) clearHint(); // "select something first" has been heard
    view.showSelection(selection);
  });
  const player = new Player();

  const report = (status) => showMark(status === "offline" && !saving.isKept ? "unkept" : status);
  const saving = new Saving({ ...task, pending, keep, report, end });
  const board = new Board({ timeline, saving, selection, view, words, seconds, say });
  const look = new Look({ board, view, words, player });
  const groupDialog = new GroupDialog(board);
  const submitDialog = new SubmitDialog({ board, saving, words, seconds });

  const enlarge = (id) => look.open(id);
  const openGroup = (id) => groupDialog.open(id);
  const openSubmit = () => submitDialog.open();
  const openHelp = () => document.getElementById("keys").showModal();

  board.show();
  view.showSelection(selection);
  keepFitting(view.unsorted, task.items);
  keepOffering(document.getElementById("read-all"), document.querySelector(".instruction"));
  listenToDialogs();
  listenToClicks({ board, view, selection, player, items: words.items, openGroup, enlarge, say });
  listenToDrags({ board, view, selection, enlarge });
  listenToKeys({ board, view, selection, enlarge, openHelp, openSubmit });
  listenToButtons({ board, view, selection, enlarge, openSubmit });
  if (isLost) say("another window changed this pile; its newer state is shown", { visibly: true });
  saving.send();
}

function listenToButtons({ board, view, selection, enlarge, openSubmit }) {
  const on = (id, action) => document.getElementById(id).addEventListener("click", action);
  on("undo", () => board.undo());
  on("redo", () => board.redo());
  on("submit", openSubmit);
  on("select-all", () => selection.replace(view.unsortedItems()));
  on("select-none", () => selection.clear());
  on("enlarge", () => enlarge([...selection.ids].at(-1)));
}

// The Back button may bring back a page whose work has gone on since.
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

start();
