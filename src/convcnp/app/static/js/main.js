// The page: its parts, the one that is shown, and whether the server is there.

import { connect, connection } from "./api.js";
import { redrawCharts } from "./chart.js";
import * as models from "./models.js";
import { find } from "./page.js";
import * as pictures from "./pictures.js";
import * as playground from "./playground.js";
import * as series from "./series.js";

const PARTS = { series, playground, pictures, models };

function show() {
  const name = location.hash.slice(1) in PARTS ? location.hash.slice(1) : "series";
  for (const other of Object.keys(PARTS)) find(other).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – convcnp`;
  PARTS[name].shown();
}

function sayGone(reason) {
  find("gone").hidden = false;
  find("gone").textContent = reason.includes("without its key")
    ? "The server was started anew: open the address that it printed, and this page goes on as well."
    : "The server is gone. Start it again with: convcnp app. This page goes on when it is back.";
}

find("theme").addEventListener("click", () => {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  redrawCharts();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);

connection.addEventListener("down", (event) => sayGone(event.reason));
connection.addEventListener("up", async () => {
  find("gone").hidden = true;
  for (const part of Object.values(PARTS)) await part.connected();
  show();
});
addEventListener("hashchange", show);

// Files may be dropped, and rows pasted, anywhere: the part that is shown takes them.
const current = () => PARTS[location.hash.slice(1)] ?? series;
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", () => document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  if (file) current().drop?.(file);
});
addEventListener("paste", (event) => {
  if (event.target instanceof Element && event.target.matches("input, textarea")) return;
  current().paste?.(event.clipboardData.getData("text/plain"));
});
show();
connect();
