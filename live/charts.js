// Lines and stacks over time, by uPlot. The legend below each is text: it shows the newest values, or those
// under the pointer, and is what a screen reader reads.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Unix seconds, as the time of day here.
const clock = (at) => {
  const date = new Date(at * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
};

class Chart {
  // series: [{ name, colour }]; stacked: areas upon each other; text: of a value; marks: [{ at, words }].
  constructor(figure, series, { stacked = false, text, marks }) {
    Object.assign(this, { figure, series, stacked, text, marks });
    this.place = element("div", { class: "plot", role: "img", "aria-label": figure.querySelector("h2").textContent });
    this.legend = element("ul", { class: "legend" });
    figure.append(this.place, this.legend);
    this.entries = series.map(({ name, colour: own }) => {
      const value = element("b"), swatch = element("i");
      swatch.style.background = `var(${own})`;
      this.legend.append(element("li", {}, swatch, name, " ", value));
      return value;
    });
    this.draw();
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.place);
  }

  size() {
    return { width: Math.max(this.place.clientWidth, 120), height: 190 };
  }

  draw() {
    this.plot?.destroy();
    const line = this.series.map(({ colour: own }) => ({
      stroke: colour(own), width: this.stacked ? 1 : 1.75, fill: this.stacked ? colour(own) : undefined, points: { show: false },
    }));
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    this.plot = new uPlot({
      ...this.size(),
      series: [{}, ...(this.stacked ? line.reverse() : line)],
      axes: [{ ...axis, space: 80, gap: 9, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 58, values: (_, ticks) => ticks.map((tick) => this.text(tick)) }],
      scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      legend: { show: false },
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx)], draw: [(plot) => this.drawMarks(plot)] },
    }, this.table || [[], ...this.series.map(() => [])], this.place);
  }

  // columns: one of values for each series, as long as `times`.
  show(times, columns) {
    this.columns = columns;
    if (this.stacked) {
      const sums = times.map(() => 0);
      this.table = [times, ...columns.map((column) => column.map((value, i) => (sums[i] += value || 0))).reverse()];
    } else {
      this.table = [times, ...columns];
    }
    this.plot.setData(this.table);
    this.tell(this.plot.cursor.idx);
  }

  tell(index) {
    if (!this.columns) return;
    const last = this.table[0].length - 1, at = index ?? last;
    this.entries.forEach((entry, i) => {
      const value = this.columns[i][at];
      setText(entry, value === null || value === undefined ? "–" : this.text(value));
      if (this.stacked) setHidden(entry.parentNode, !this.columns[i].some(Boolean));
    });
  }

  drawMarks(plot) {
    const { ctx, bbox } = plot, ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--mark");
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    for (const { at, words } of this.marks) {
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const fits = x + ctx.measureText(words).width + 6 * ratio < bbox.left + bbox.width;
      ctx.textAlign = fits ? "left" : "right";
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(words, x + (fits ? 4 : -4) * ratio, bbox.top + 11 * ratio);
    }
    ctx.restore();
  }
}
