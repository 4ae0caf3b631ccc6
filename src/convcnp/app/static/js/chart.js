// A chart of predictions: bands and means by uPlot, points and everything else drawn upon it.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { colour, make, written } from "./page.js";

const charts = new Set();

/** Draw all charts again, in the colours of now. */
export function redrawCharts() {
  for (const chart of charts) chart.rebuild();
}

const withAlpha = (hex, alpha) => hex + Math.round(255 * alpha).toString(16).padStart(2, "0");

/** The columns of uPlot for one band: its edges, and the mean on top. */
const PARTS = ["q05", "q95", "q25", "q75", "mean"];

/** Dates of an axis, each with what the one before it does not say: the year first, the clock last. */
function dates(plot, ticks, axis, space, step) {
  let before = "";
  return ticks.map((seconds) => {
    const text = new Date(seconds * 1e3).toISOString();
    const day = text.slice(0, 10);
    const isSame = day === before;
    const isYear = day.slice(0, 4) !== before.slice(0, 4);
    before = day;
    if (step >= 86400 * 360) return day.slice(0, 4);
    if (step >= 86400 * 28) return day.slice(0, 7);
    if (step >= 86400) return isYear ? day : day.slice(5);
    return isSame ? text.slice(11, 16) : `${isYear ? day : day.slice(5)} ${text.slice(11, 16)}`;
  });
}

export class Chart {
  /**
   * @param element where it is put
   * @param options axis ("date", "duration" or "number"), title, height, and what to call:
   *   onView(low, high) when another part is wanted, onHover(text) with what is under the pointer,
   *   paint(chart, context) to draw on top, and shade ([low, high]) behind all.
   */
  constructor(element, options) {
    this.options = { axis: "number", height: 300, ...options };
    this.holder = make("div", { className: "chart" });
    if (options.title) this.holder.append(make("h3", { textContent: options.title }));
    this.holder.chart = this; // tests read what is drawn
    element.append(this.holder);
    this.curve = { x: [], bands: [] };
    this.points = []; // of lists: { x, y, colour, hollow }
    this.view = { x: [0, 1], y: [0, 1] };
    charts.add(this);
    this.rebuild();
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.holder);
  }

  remove() {
    this.watch.disconnect();
    charts.delete(this);
    this.plot?.destroy();
    this.holder.remove();
  }

  resize() {
    const width = this.holder.clientWidth;
    if (width && this.plot && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.options.height });
    }
  }

  /** Show curves: { x, bands: [{ name, colour, dashed, mean, q05, … samples }] }. */
  setCurve(curve) {
    const isSame = curve.bands.map((b) => [b.name, b.colour, b.samples?.length]).join() === this.shape;
    this.curve = curve;
    if (isSame) this.plot.setData(this.data(), false);
    else this.rebuild();
    this.redraw();
  }

  /** Look at a part: both ends along x, and along y if they are given. */
  setView(x, y = this.view.y) {
    this.view = { x, y };
    this.redraw();
  }

  redraw() {
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.view.x[0], max: this.view.x[1] });
      this.plot.setScale("y", { min: this.view.y[0], max: this.view.y[1] });
    });
    this.plot.redraw();
  }

  data() {
    const columns = [this.curve.x];
    for (const band of this.curve.bands) {
      for (const part of PARTS) columns.push(band[part]);
      columns.push(...(band.samples ?? []));
    }
    return columns;
  }

  rebuild() {
    this.shape = this.curve.bands.map((b) => [b.name, b.colour, b.samples?.length]).join();
    this.plot?.destroy();
    const series = [{}];
    const bands = [];
    for (const band of this.curve.bands) {
      const line = colour(band.colour);
      const first = series.length;
      for (let i = 0; i < 4; i += 1) {
        series.push(band.dashed ? { stroke: line, width: 1, dash: [2, 4], points: { show: false } } : { points: { show: false } });
      }
      series.push({ stroke: line, width: 2, dash: band.dashed ? [6, 4] : undefined, points: { show: false } });
      for (const _ of band.samples ?? []) {
        series.push({ stroke: withAlpha(colour("second"), 0.7), width: 1, points: { show: false } });
      }
      if (!band.dashed) {
        bands.push({ series: [first + 1, first], fill: withAlpha(line, 0.18) });
        bands.push({ series: [first + 3, first + 2], fill: withAlpha(line, 0.25) });
      }
    }
    const axis = {
      stroke: colour("soft"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    this.plot = new uPlot(
      {
        width: this.holder.clientWidth || 600,
        height: this.options.height,
        series,
        bands,
        legend: { show: false },
        cursor: { drag: { x: Boolean(this.options.onView), y: false, setScale: false }, points: { show: false } },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
        scales: { x: { time: this.options.axis === "date", auto: false }, y: { auto: false } },
        axes: [{ ...axis, ...(this.options.axis === "date" ? { values: dates, space: 70 } : {}) }, { ...axis, size: 64, values: (u, ticks) => ticks.map(written) }],
        hooks: {
          drawClear: [(u) => this.shade(u)],
          draw: [(u) => this.paint(u)],
          setCursor: [(u) => this.hover(u)],
          setSelect: [(u) => this.select(u)],
        },
      },
      this.data(),
      this.holder,
    );
    this.plot.over.tabIndex = 0;
    this.plot.over.setAttribute("role", "application");
    this.plot.over.setAttribute("aria-label", this.options.title ?? "Chart");
    this.options.attach?.(this.plot.over, this);
    if (this.options.onView) this.attachZoom(this.plot.over);
    this.redraw();
  }

  shade(u) {
    if (!this.options.shade) return;
    const [low, high] = this.options.shade.map((x) => u.valToPos(x, "x", true));
    u.ctx.save();
    u.ctx.fillStyle = colour("raised");
    u.ctx.fillRect(Math.max(low, u.bbox.left), u.bbox.top, Math.min(high, u.bbox.left + u.bbox.width) - Math.max(low, u.bbox.left), u.bbox.height);
    u.ctx.restore();
  }

  paint(u) {
    const context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    context.clip();
    for (const { x, y, ...look } of this.points) {
      context.fillStyle = context.strokeStyle = colour(look.colour ?? "point");
      context.lineWidth = 1.5 * devicePixelRatio;
      const radius = (look.radius ?? 3) * devicePixelRatio;
      for (let i = 0; i < x.length; i += 1) {
        if (y[i] === null) continue;
        context.beginPath();
        context.arc(u.valToPos(x[i], "x", true), u.valToPos(y[i], "y", true), radius, 0, 7);
        if (look.hollow) context.stroke();
        else context.fill();
      }
    }
    this.options.paint?.(this, context);
    context.restore();
  }

  /** Say what is under the pointer: the time, and for every band the mean and both bands. */
  hover(u) {
    const i = u.cursor.idx;
    if (!this.options.onHover || i === null || i === undefined || u.cursor.left < 0) return;
    const texts = this.curve.bands.map(
      (band) =>
        `${band.name}: mean ${written(band.mean[i])}, 50 % from ${written(band.q25[i])} to ${written(band.q75[i])}, ` +
        `90 % from ${written(band.q05[i])} to ${written(band.q95[i])}`,
    );
    this.options.onHover(`${this.time(this.curve.x[i])} – ${texts.join("; ")}`, u.posToVal(u.cursor.left, "x"));
  }

  /** A time in words. */
  time(x) {
    if (this.options.axis !== "date") return written(x);
    const text = new Date(x * 1e3).toISOString();
    const width = this.view.x[1] - this.view.x[0];
    return width > 86400 * 60 ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  }

  select(u) {
    if (!this.options.onView || u.select.width < 4) return;
    const low = u.posToVal(u.select.left, "x");
    const high = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.options.onView(low, high);
  }

  attachZoom(over) {
    const zoom = (factor, at = 0.5) => {
      const [low, high] = this.view.x;
      const middle = low + at * (high - low);
      this.options.onView(middle - factor * (middle - low), middle + factor * (high - middle));
    };
    const pan = (share) => {
      const [low, high] = this.view.x;
      this.options.onView(low + share * (high - low), high + share * (high - low));
    };
    over.addEventListener("dblclick", () => this.options.onView(null, null));
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
        else zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / over.clientWidth);
      },
      { passive: false },
    );
    const keys = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: () => this.options.onView(null, null) };
    over.addEventListener("keydown", (event) => {
      if (!(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

/** The ends of what is to be seen along y, with some room. */
export function ends(...lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (value === null || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) return [-1, 1];
  const room = 0.06 * (high - low) || Math.abs(low) * 0.1 || 1;
  return [low - room, high + room];
}
