// The playground: points that are clicked, moved and removed, and what models make of them.

import { ask, Latest } from "./api.js";
import { Chart } from "./chart.js";
import { colour, fillMenu, find, make, written } from "./page.js";

const VIEW = { x: [-6, 6], y: [-3, 3] };
const PLACES = 400;
const NEAR = 12; // pixels
const KINDS = { eq: "EQ", matern: "Matérn", "weakly-periodic": "weakly periodic", sawtooth: "sawtooth" };
const COLOURS = ["first", "second"];

let points = [
  [-1.3, -0.6],
  [-0.7, 0.4],
  [0.2, 0.9],
  [1.1, -0.3],
];
let hidden = [];
let drawn = null; // the function that was drawn, where it is
let shift = 0; // of all points, since the beginning
let cross = null; // where the keyboard points
let chart = null;
let seed = 1;
const latest = new Latest();

const part = (name) => find(`play-${name}`);

export async function connected() {
  const models = (await ask("api/models")).filter(
    (model) => model.takes === "tables" && model.inputs === 1 && model.outputs === 1,
  );
  const names = models.map(({ name }) => [name, name]);
  fillMenu(part("first"), names, part("first").value || "eq-convcnp-ours");
  fillMenu(part("second"), [["", "none"], ...names], chart ? part("second").value : "eq-attncnp");
  fillMenu(part("exact"), [["", "none"], ...Object.entries(KINDS).filter(([kind]) => kind !== "sawtooth")], chart ? part("exact").value : "eq");
  build();
}

export function shown() {
  chart?.resize();
  if (chart) predict();
}

function build() {
  if (chart) return;
  chart = new Chart(part("chart"), {
    height: Math.max(280, Math.min(460, 0.55 * innerHeight)),
    shade: [-2, 2],
    attach,
    paint: paintMore,
    onHover: (text) => (part("readout").textContent = text),
  });
  chart.setView(VIEW.x, VIEW.y);
}

/** Show the points, and ask for the bands: at places that hang on the points, wherever they are. */
function predict() {
  showPoints();
  const step = (VIEW.x[1] - VIEW.x[0]) / PLACES;
  const first = Math.ceil((VIEW.x[0] - shift) / step);
  const question = {
    points,
    hidden,
    low: shift + first * step,
    high: shift + (first + PLACES - 1) * step,
    places: PLACES,
    models: [part("first").value, part("second").value].filter(Boolean),
    exact: part("exact").value || null,
  };
  return latest.run(async () => {
    try {
      const curve = await ask("api/playground", question);
      curve.bands.forEach((band, i) => {
        band.dashed = band.name === "exact GP";
        band.colour = band.dashed ? "third" : COLOURS[i];
      });
      chart.setCurve(curve);
      score(curve.bands);
      part("error").textContent = "";
    } catch (error) {
      part("error").textContent = error.message;
    }
  });
}

function showPoints() {
  const lists = (pairs) => ({ x: pairs.map(([x]) => x), y: pairs.map(([, y]) => y), radius: 5 });
  chart.points = [{ ...lists(hidden), hollow: true }, lists(points)];
  part("shift").value = shift;
  part("shift-said").textContent = shift.toFixed(2);
  chart.redraw();
}

function score(bands) {
  const rows = bands.map((band) =>
    make(
      "tr",
      {},
      make("td", {}, swatch(band.colour), band.name),
      make("td", { className: "number", textContent: hidden.length ? written(band.log_likelihood) : "nothing is hidden" }),
    ),
  );
  part("scores").tBodies[0].replaceChildren(...rows);
}

function swatch(name) {
  const mark = make("span", { className: "swatch" });
  mark.style.background = colour(name);
  return mark;
}

/** Draw the function behind the points, and the cross of the keyboard. */
function paintMore({ plot }, context) {
  const at = (x, y) => [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
  context.lineWidth = devicePixelRatio;
  if (drawn) {
    context.strokeStyle = colour("soft");
    context.beginPath();
    drawn.x.forEach((x, i) => context.lineTo(...at(x + shift, drawn.y[i])));
    context.stroke();
  }
  if (cross) {
    const [x, y] = at(...cross);
    const arm = 9 * devicePixelRatio;
    context.strokeStyle = colour("bad");
    context.beginPath();
    context.moveTo(x - arm, y);
    context.lineTo(x + arm, y);
    context.moveTo(x, y - arm);
    context.lineTo(x, y + arm);
    context.stroke();
  }
}

// --- What the user does -------------------------------------------------------------------------

function moveAll(by) {
  shift += by;
  points = points.map(([x, y]) => [x + by, y]);
  hidden = hidden.map(([x, y]) => [x + by, y]);
  predict();
}

/** The number of the point nearest to a place in pixels, if it is near; hidden ones stay. */
function nearest(left, top, within = NEAR) {
  let best = -1;
  let distance = within;
  points.forEach(([x, y], i) => {
    const away = Math.hypot(chart.plot.valToPos(x, "x") - left, chart.plot.valToPos(y, "y") - top);
    if (away <= distance) [best, distance] = [i, away];
  });
  return best;
}

function attach(over) {
  const place = (event) => {
    const box = over.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    return { left, top, x: chart.plot.posToVal(left, "x"), y: chart.plot.posToVal(top, "y") };
  };
  let held = null; // the number of a point, or "all"
  let before = 0;
  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { left, top, x, y } = place(event);
    over.setPointerCapture(event.pointerId);
    before = x;
    if (event.shiftKey) held = "all";
    else {
      held = nearest(left, top);
      if (held < 0) held = points.push([x, y]) - 1;
      predict();
    }
  });
  over.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const { x, y } = place(event);
    if (held === "all") moveAll(x - before);
    else {
      points[held] = [x, y];
      predict();
    }
    before = x;
  });
  for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, () => (held = null));
  over.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    const { left, top } = place(event);
    remove(nearest(left, top));
  });
  over.addEventListener("keydown", onKey);
  over.addEventListener("blur", () => {
    cross = null;
    chart.redraw();
  });
}

function remove(number) {
  if (number < 0) return;
  points.splice(number, 1);
  predict();
}

function onKey(event) {
  const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
  const step = steps[event.key];
  if (!step && !["Enter", " ", "Delete", "Backspace"].includes(event.key)) return;
  event.preventDefault();
  if (step && event.shiftKey) return moveAll(step[0]);
  cross ??= [0, 0];
  if (step) cross = [cross[0] + step[0], cross[1] + step[1]];
  else if (event.key === "Enter" || event.key === " ") points.push([...cross]);
  else remove(nearest(chart.plot.valToPos(cross[0], "x"), chart.plot.valToPos(cross[1], "y"), Infinity));
  predict();
}

for (const menu of ["first", "second", "exact"]) part(menu).addEventListener("change", predict);
part("shift").addEventListener("input", () => moveAll(Number(part("shift").value) - shift));
part("clear").addEventListener("click", () => {
  [points, hidden, drawn, shift] = [[], [], null, 0];
  predict();
});
for (const [kind, name] of Object.entries(KINDS)) {
  const button = make("button", { type: "button", textContent: name });
  button.addEventListener("click", async () => {
    try {
      const answer = await ask("api/playground/function", { kind, seed: seed++ });
      ({ points, hidden } = answer);
      drawn = answer;
      shift = 0;
      predict();
    } catch (error) {
      part("error").textContent = error.message;
    }
  });
  part("kinds").append(button);
}
