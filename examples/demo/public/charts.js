// The three charts, drawn by uPlot. Colours come from the style sheet each time a chart is drawn, so that a change of theme needs only a redraw.
import { count, seconds } from "./format.js";

const charts = new Set();
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const font = () => `12px ${getComputedStyle(document.body).fontFamily}`;

function axis(more) {
  return { stroke: () => colour("soft"), font: font(), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false }, ...more };
}

// In the size of its box, now and later.
function make(box, options, data) {
  const chart = new uPlot({ width: box.clientWidth, height: box.clientHeight, legend: { show: false }, padding: [8, 16, 0, 0], ...options }, data, box);
  new ResizeObserver(() => {
    if (box.clientWidth !== chart.width || box.clientHeight !== chart.height) chart.setSize({ width: box.clientWidth, height: box.clientHeight });
  }).observe(box);
  charts.add(chart);
  return chart;
}

export function redrawAll() {
  for (const chart of charts) chart.redraw();
}

const still = { show: false };
const bars = (data) => data.map((_, index) => index);
const whole = (_, values) => values.map((value) => (Number.isInteger(value) ? count(value) : ""));

function columns(box, { name, labels, height, size }) {
  const empty = new Array(size).fill(0);
  return make(box, {
    cursor: still,
    scales: { x: { time: false, range: [-0.6, size - 0.4] }, y: { range: (_, low, high) => [0, Math.max(height, high * 1.1)] } },
    axes: [axis({ grid: { show: false }, size: 26, gap: 4, ...labels }), axis({ size: 40, gap: 4, space: 34, values: whole })],
    series: [{}, { fill: () => colour(name), stroke: () => colour(name), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.72, 40], radius: 0.15 }) }],
  }, [bars(empty), empty]);
}

// A figure for each of the last 60 seconds.
export function minuteChart(box) {
  return columns(box, { name: "mark", height: 10, size: 60, labels: { splits: () => [4, 29, 58], values: () => ["60 s ago", "30 s ago", "now"] } });
}

export function hoursChart(box) {
  return columns(box, { name: "mark", height: 10, size: 24, labels: { splits: () => [0, 6, 12, 18, 23], values: () => ["0:00", "6:00", "12:00", "18:00", "23:00"] } });
}

export function showColumns(chart, values) {
  chart.setData([bars(values), values]);
}

const SERVICES = ["price", "stock", "reviews"];

// The waterfall: a line for each request, from sent to answered, its waits in the colours of the services. Lines without an answer yet grow with the clock.
export class Waterfall {
  constructor(box, requests, alone, onPoint) {
    this.requests = requests;
    this.least = alone * 1.5;
    this.rows = [];
    this.elapsed = 0;
    this.chart = make(box, {
      scales: { x: { time: false, range: () => [0, this.end()] }, y: { dir: -1, range: () => [0, this.requests] } },
      axes: [axis({ size: 28, gap: 4, values: (_, values) => values.map((value) => `${+value.toFixed(1)} s`) }),
        axis({ size: 40, gap: 4, grid: { show: false }, splits: () => [0.5, requests / 4, requests / 2, requests * 3 / 4, requests - 0.5], values: (_, values) => values.map((value) => Math.floor(value) + (value < 1 || value > requests - 1 ? 1 : 0)) })],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: { drag: { x: false, y: false }, points: { show: false }, x: false },
      hooks: { draw: [(chart) => this.draw(chart)], setCursor: [(chart) => onPoint(this.rowAt(chart))] },
    }, [[0, 1], [0, requests]]);
  }

  end() {
    return Math.max(this.least, this.elapsed * 1.08);
  }

  rowAt(chart) {
    if (chart.cursor.top == null || chart.cursor.top < 0) return null;
    return this.rows[Math.floor(chart.posToVal(chart.cursor.top, "y"))] ?? null;
  }

  // rows as the server tells them; elapsed in seconds of the run's clock.
  show(rows, elapsed) {
    this.rows = rows;
    this.elapsed = elapsed;
    this.chart.setData([[0, this.end()], [0, this.requests]]);
  }

  draw(chart) {
    const context = chart.ctx;
    const colours = Object.fromEntries([...SERVICES, "rest", "bad"].map((name) => [name, colour(name)]));
    const pitch = chart.bbox.height / this.requests;
    // Lines on whole pixels where there are enough, so that all have one thickness.
    const thick = Math.max(1, Math.floor(pitch * 0.72));
    context.save();
    this.rows.forEach((row, index) => {
      if (row.sent == null) return;
      const top = Math.round(chart.bbox.top + index * pitch);
      const bar = (name, from, to) => {
        const left = chart.valToPos(from, "x", true);
        context.fillStyle = colours[name];
        context.fillRect(left, top, Math.max(1, chart.valToPos(to, "x", true) - left), thick);
      };
      bar(row.error ? "bad" : "rest", row.sent, row.received ?? this.elapsed);
      for (const name of SERVICES) if (row.waits?.[name]) bar(name, ...row.waits[name]);
    });
    context.restore();
  }
}

export function describe(row) {
  if (!row) return "";
  if (row.sent == null) return `Request ${row.product}: not sent yet`;
  if (row.received == null) return `Request ${row.product}: sent at ${seconds(row.sent)}, not answered yet`;
  const took = `Request ${row.product}: ${seconds(row.received - row.sent)}`;
  if (row.error) return `${took}, then ${row.error}`;
  return `${took}, of which ${SERVICES.map((name) => `${name} ${seconds(row.waits[name][1] - row.waits[name][0])}`).join(", ")}`;
}
