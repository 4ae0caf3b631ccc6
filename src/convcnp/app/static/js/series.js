// Series: a table in, its gaps and what lies ahead with bands, and the way to do the same elsewhere.

import { ask, Latest } from "./api.js";
import { Chart, ends } from "./chart.js";
import { download, fillMenu, find, make, stem, whileBusy } from "./page.js";

const SHOWN = 3; // value columns at once
const PLACES = 240;

let chosen = null; // { name, blob } or { example }: what came last, read or not
let given = null; // the last that was read: what is sent again to a server that came back
let table = null; // what the server says of it
let found = null; // what it understood
let view = null; // [low, high], or nothing for all
let charts = [];
const understanding = new Latest();
const predicting = new Latest();

const part = (name) => find(`series-${name}`);

export async function connected() {
  const [examples, models] = await Promise.all([ask("api/examples"), ask("api/models")]);
  fillMenu(part("example"), [["", "…"], ...Object.entries(examples)]);
  const ofSeries = models.filter((model) => model.takes === "tables" && model.inputs === 1);
  fillMenu(part("model"), ofSeries.map(({ name }) => [name, name]), part("model").value || "general");
  if (given) await take(given, true);
}

export function shown() {
  for (const chart of charts) chart.resize();
}

/**
 * Give a table to the server, and start with it; again if it was forgotten. An answer about what was
 * replaced meanwhile is dropped.
 */
async function take(what, isAgain = false) {
  if (!isAgain) chosen = what;
  const isReplaced = () => what !== (isAgain ? given : chosen);
  part("error").textContent = "";
  try {
    const answer = await whileBusy(part("busy"), () =>
      what.example
        ? ask(`api/examples/${what.example}`, {})
        : ask(`api/tables?name=${encodeURIComponent(what.name)}`, what.blob),
    );
    if (isReplaced()) return;
    table = answer;
    given = what;
    if (!isAgain) {
      found = view = null;
      lookAhead(0);
      const names = table.columns.map((name) => [name, name]);
      fillMenu(part("time"), [["", "guess"], ...names], "");
      fillMenu(part("group"), [["", "guess"], ["\u0000none", "none"], ...names], "");
      fillMenu(part("number"), [["0", "0"]], "0");
      part("values").replaceChildren();
    }
  } catch (error) {
    if (!isReplaced()) complain(error);
    return;
  }
  await again();
}

/** Say what was refused; a curve takes back no more than what was said of a curve. */
function complain(error, of = "choice") {
  part("error").textContent = error.message;
  part("error").dataset.of = of;
  if (!found) part("body").hidden = true;
}

function question(more = {}) {
  const group = part("group").value;
  return {
    table: table.table,
    model: part("model").value,
    time: part("time").value || null,
    group: group === "\u0000none" ? "" : group || null,
    values: checked(),
    ahead: Number(part("ahead").value),
    samples: part("curves").checked ? 5 : 0,
    ...more,
  };
}

const checked = () => [...part("values").querySelectorAll("input:checked")].map((box) => box.value);
const number = () => Number(part("number").value) || 0;

/** Ask what the columns are, say it, and predict; an answer about a table that was replaced is dropped. */
async function understand() {
  const isFirst = !found;
  const about = table;
  let answer = await ask("api/series/understanding", question({ series: number() }));
  if (table !== about) return;
  if (isFirst) listValues(answer.values);
  if (isFirst && answer.values.length > SHOWN) {
    answer = await ask("api/series/understanding", question({ series: number() }));
    if (table !== about) return;
  }
  found = answer;
  part("body").hidden = false;
  part("words").textContent = [found.description, ...found.remarks].join(" ");
  part("which").hidden = !found.labels.length;
  fillMenu(part("number"), found.labels.map((label, i) => [String(i), label]));
  part("command").textContent = found.command;
  part("python").textContent = found.python;
  part("time").options[0].textContent = `guess: ${found.time}`;
  part("group").options[0].textContent = `guess: ${found.group ?? "none"}`;
  listGaps();
  buildCharts();
  predict();
}

/** Offer all columns as values; of those that were guessed, the first few are shown. */
function listValues(guessed) {
  const boxes = table.columns.map((name) => {
    const box = make("input", { type: "checkbox", value: name, checked: guessed.slice(0, SHOWN).includes(name) });
    box.addEventListener("change", again);
    return make("label", {}, box, ` ${name}`);
  });
  part("values").replaceChildren(...boxes);
}

function listGaps() {
  const items = found.gaps.map((gap) => {
    const button = make("button", { type: "button", textContent: `${gap.text} (${gap.missing})` });
    button.addEventListener("click", () => {
      const room = 2 * (gap.end - gap.start) || found.step || 1;
      look(gap.start - room, gap.end + room);
    });
    return make("li", {}, button);
  });
  part("gaps").replaceChildren(...items);
  if (!items.length) part("gaps").replaceChildren(make("p", { className: "hint", textContent: "No value is missing." }));
}

function buildCharts() {
  for (const chart of charts) chart.remove();
  charts = found.values.slice(0, SHOWN).map(
    (name) =>
      new Chart(part("charts"), {
        title: name,
        axis: found.axis,
        height: found.values.length > 1 ? 240 : 380,
        onView: look,
        onHover: (text, x) => (part("readout").textContent = `${text}${observedNear(name, x)}`),
      }),
  );
}

/** Say what was observed nearest to a time, if that is near. */
function observedNear(name, x) {
  const { x: times, values } = found.observed;
  let best = -1;
  for (let i = 0; i < times.length; i += 1) {
    if (values[name][i] !== null && (best < 0 || Math.abs(times[i] - x) < Math.abs(times[best] - x))) best = i;
  }
  const [low, high] = charts[0].view.x;
  if (best < 0 || Math.abs(times[best] - x) > 0.01 * (high - low)) return "";
  return `; observed ${values[name][best]} at ${charts[0].time(times[best])}`;
}

/** Look at a part of the series; at all of it without ends. */
function look(low, high) {
  view = low === null ? null : [low, high];
  if (view) for (const chart of charts) chart.setView(view);
  predict();
}

async function predict() {
  await predicting.run(async () => {
    const about = found;
    if (!about) return; // another table is on its way
    const asked = question({ series: number(), places: PLACES, values: found.values.slice(0, SHOWN) });
    if (view) [asked.low, asked.high] = view;
    try {
      const curve = await whileBusy(part("busy"), () => ask("api/series/curve", asked));
      if (found !== about) return; // other columns by now; their curve is asked for next
      draw(curve);
      if (part("error").dataset.of === "curve") part("error").textContent = "";
    } catch (error) {
      if (found === about) complain(error, "curve");
    }
  });
}

function draw(curve) {
  charts.forEach((chart, i) => {
    const band = { ...curve.bands[i], colour: "first" };
    const values = found.observed.values[band.name];
    chart.points = [{ x: found.observed.x, y: values, radius: values.length > 400 ? 1.5 : 2.5 }];
    chart.setCurve({ x: curve.x, bands: [band] });
    const x = view ?? [curve.x[0], curve.x.at(-1)];
    const inside = values.filter((_, j) => found.observed.x[j] >= x[0] && found.observed.x[j] <= x[1]);
    chart.setView(x, ends(inside, band.q05, band.q95, ...band.samples));
  });
  const warnings = [...new Set([...table.warnings, ...found.warnings, ...curve.warnings])];
  part("warnings").replaceChildren(...warnings.map((text) => make("li", { textContent: text })));
}

/** Understand what is chosen now, after a menu was changed or a table came. */
async function again() {
  await understanding.run(async () => {
    part("error").textContent = "";
    try {
      await whileBusy(part("busy"), understand);
    } catch (error) {
      complain(error);
    }
  });
}

async function save(kind) {
  part("error").textContent = "";
  try {
    const blob = await whileBusy(part("busy"), () => ask(`api/series/${kind === "csv" ? "answer.csv" : "picture.png"}`, question(), "blob"));
    download(blob, `${stem(table.name)}-predicted.${kind}`);
  } catch (error) {
    complain(error);
  }
}

// --- What the user does -------------------------------------------------------------------------

part("file").addEventListener("change", () => {
  const [file] = part("file").files;
  if (file) take({ name: file.name, blob: file });
  part("file").value = "";
});
part("example").addEventListener("change", () => {
  if (part("example").value) take({ example: part("example").value });
  part("example").value = "";
});
for (const menu of ["time", "group", "model"]) part(menu).addEventListener("change", again);
part("number").addEventListener("change", () => {
  view = null;
  again();
});
/** Set how far a forecast goes, and say it. */
function lookAhead(steps) {
  part("ahead").value = steps;
  part("ahead-said").textContent = `${steps || "no"} ${steps === 1 ? "step" : "steps"}${steps ? " ahead" : ""}`;
}

part("ahead").addEventListener("input", () => {
  lookAhead(Number(part("ahead").value));
  view = null;
  predict();
});
part("ahead").addEventListener("change", again);
part("curves").addEventListener("change", again);
part("all").addEventListener("click", () => look(null, null));
part("csv").addEventListener("click", () => save("csv"));
part("png").addEventListener("click", () => save("png"));

/** Take a file that was dropped, if this part is shown. */
export function drop(file) {
  take({ name: file.name, blob: file });
}

/** Take rows that were pasted. */
export function paste(text) {
  if (text.trim().includes("\n")) take({ name: "pasted.csv", blob: new Blob([text]) });
}
