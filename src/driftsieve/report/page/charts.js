// Scales, axes and the charts drawn from them, as SVG. Colours come from the style sheet, so that
// light, dark and print need no redrawing.

const color = (i) => `var(--c${i % 10})`;
// Without the middle of a long text: names often differ at their ends.
function shorten(text, n) {
  const end = n > 6 ? Math.floor(n / 3) : 0;
  return text.length > n ? `${text.slice(0, n - 1 - end)}\u2026${text.slice(text.length - end)}` : text;
}

function linear(from, to, a, b) {
  const span = to - from || 1;
  return (x) => a + ((x - from) / span) * (b - a);
}

function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= 0.75 * raw);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}

const PAPER = 690; // the width of a printed page, in CSS pixels
const plots = new Set();
addEventListener("beforeprint", () => plots.forEach((render) => render(PAPER)));
addEventListener("afterprint", () => plots.forEach((render) => render()));

// An <svg> in `host` that `draw(svg, width)` fills, now and whenever there is another width.
function plot(host, height, label, draw) {
  const svg = s("svg", { class: "plot", role: "group", "aria-label": label, height });
  host.append(svg);
  let drawn = 0;
  const render = (most = Infinity) => {
    if (!svg.isConnected) return plots.delete(render);
    const room = host.clientWidth - 2 * parseFloat(getComputedStyle(host).paddingLeft);
    const width = Math.floor(Math.min(room, most));
    if (width < 60 || width === drawn) return null;
    drawn = width;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    return draw(svg, width);
  };
  plots.add(render);
  new ResizeObserver(() => render()).observe(host);
  render();
}

// Ticks and their labels; a label near an end of the axis [left, right] stays inside it, and one that
// would touch the label before it is left out.
function axisX(svg, values, x, y, format, [left, right], unit = "") {
  const anchor = (px) => (px - left < 18 ? "start" : right - px < 18 ? "end" : "middle");
  let free = -Infinity;
  const text = (value) => {
    const size = 6.8 * format(value).length;
    const begin = x(value) - { start: 0, middle: size / 2, end: size }[anchor(x(value))];
    if (begin < free) return "";
    free = begin + size + 6;
    return format(value);
  };
  svg.append(s("g", { class: "axis" },
    s("line", { class: "base", x1: left, x2: right, y1: y, y2: y }),
    s("text", { x: left - 8, y: y + 18, "text-anchor": "end" }, unit === "unix" ? "" : unit),
    values.map((value) => s("g", { transform: `translate(${x(value)} ${y})` },
      s("line", { y2: 5 }), s("text", { y: 18, "text-anchor": anchor(x(value)) }, text(value))))));
}

function axisY(svg, values, y, left, right, format) {
  svg.append(s("g", { class: "axis" }, values.map((value) => s("g", { transform: `translate(0 ${y(value)})` },
    s("line", { class: "rule", x1: left, x2: right }),
    s("text", { x: left - 8, dy: "0.32em", "text-anchor": "end" }, format(value))))));
}

function path(xs, ys, x, y) {
  let d = "";
  let pen = "M";
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) { pen = "M"; continue; }
    d += `${pen}${x(xs[i]).toFixed(1)} ${y(ys[i]).toFixed(1)}`;
    // A lone point between two gaps would be invisible.
    if (pen === "M" && !Number.isFinite(ys[i + 1])) d += "h0.01";
    pen = "L";
  }
  return d;
}

const DAY = 86400;
const STEPS = [60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY];

// The first days of every 1, 2, 3, 6 or more months between two times that are at least `least` apart.
function monthsBetween(first, last, least) {
  const step = [1, 2, 3, 6].find((one) => 30 * DAY * one >= least) ?? 12 * Math.ceil(least / (365 * DAY));
  const start = new Date(1000 * first);
  const values = [];
  for (let month = Math.floor((12 * start.getUTCFullYear() + start.getUTCMonth()) / step) * step; ; month += step) {
    const value = Date.UTC(Math.floor(month / 12), month % 12) / 1000;
    if (!(value <= last)) return values;
    if (value >= first) values.push(value);
  }
}

// Tick positions along the stream and how to write them: round numbers, or round times.
function timeTicks(xs, width, unit) {
  const narrow = width < 400; // "18:00" or "Jan 18" for all of a date
  const [first, last] = [xs[0], xs[xs.length - 1]];
  if (unit !== "unix") {
    const values = ticks(first, last, Math.max(1, Math.floor(width / (narrow ? 70 : 90))));
    const large = values.some((value) => Math.abs(value) >= 1e4);
    return [values, (value) => (large ? compact.format(value) : number(value))];
  }
  const step = STEPS.find((one) => one >= (last - first) / (width / (narrow ? 60 : 100)));
  if (!step) return [monthsBetween(first, last, (last - first) / (width / 60)), (value) => date(value).slice(0, 7)];
  const values = [];
  for (let value = Math.ceil(first / step) * step; value <= last; value += step) values.push(value);
  const write = (value) => (!narrow ? (step < DAY ? date(value).slice(5) : date(value).slice(0, 10))
    : value % DAY ? date(value).slice(11) : monthDay.format(1000 * value));
  return [values, write];
}

const place = (position, unit) => (unit === "unix" ? date(position) : `${number(position, 9)} ${unit}`);

function nearest(xs, value) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < value) low = middle; else high = middle;
  }
  return value - xs[low] < xs[high] - value ? low : high;
}

// Keeps labels `gap` apart and inside [top, bottom], as near to where they belong as can be.
function spread(places, gap, top, bottom) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const out = places.slice();
  let floor = top;
  for (const i of order) floor = (out[i] = Math.max(out[i], floor)) + gap;
  let ceiling = bottom;
  for (const i of order.reverse()) ceiling = (out[i] = Math.min(out[i], ceiling)) - gap;
  return out;
}

const asButton = (pick) => ({
  tabindex: 0,
  role: "button",
  onclick: pick,
  onkeydown: (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); }
  },
});

// Lines over time with labels at their ends. series: [{name, color, ys, pick}]; yAxis: {of, values,
// format}, `of` made from (top, bottom).
function lines(host, height, label, { xs, unit, series, yAxis, format, labels = 150, area = false, limit = null }) {
  const legend = h("div", { class: "legend under", hidden: true }, series.map((one) =>
    h("button", { type: "button", class: "plain-button", onclick: () => one.pick?.() }, swatch(one.color), nameNode(shorten(one.name, 30)))));
  plot(host, height, label, (svg, width) => {
    const wide = width > 520;
    const [left, right] = [52, width - (labels && wide ? labels : 12)];
    legend.hidden = !labels || wide;
    const [top, bottom] = [yAxis.title ? 20 : 10, height - 30];
    const y = yAxis.of(top, bottom);
    const x = linear(xs[0], xs[xs.length - 1], left, right);
    axisY(svg, yAxis.values, y, left, right, yAxis.format);
    const [marks, mark] = timeTicks(xs, right - left, unit);
    axisX(svg, marks, x, bottom, mark, [left, right], unit);
    const guide = s("line", { class: "guide", y1: top, y2: bottom, visibility: "hidden" });
    const groups = series.map((one) => s("g", { class: "series", stroke: one.color, fill: one.color },
      area && s("path", { class: "area", d: closed(path(xs, one.ys, x, y), bottom) }),
      s("path", { class: "line", d: path(xs, one.ys, x, y) })));
    svg.append(guide, ...groups);
    if (limit) {
      svg.append(s("g", { class: "mark" }, s("line", { x1: left, x2: right, y1: y(limit.value), y2: y(limit.value) }),
        s("text", { x: left + 6, y: y(limit.value) - 5 }, limit.text)));
    }
    if (yAxis.title) svg.append(s("text", { class: "axis-title", x: left, y: 0, dy: "0.2em" }, yAxis.title));
    const focus = (chosen) => {
      svg.classList.toggle("focused", chosen >= 0);
      groups.forEach((group, i) => group.classList.toggle("on", i === chosen));
    };
    const hit = s("rect", { class: "hit", x: left, y: top, width: Math.max(1, right - left), height: bottom - top });
    svg.append(hit);
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const i = nearest(xs, xs[0] + ((event.clientX - box.left - left) / (right - left)) * (xs[xs.length - 1] - xs[0]));
      const known = series.map((one, c) => c).filter((c) => Number.isFinite(series[c].ys[i]));
      const distance = (c) => Math.abs(y(series[c].ys[i]) - (event.clientY - box.top));
      return [i, known, known.reduce((best, c) => (best < 0 || distance(c) < distance(best) ? c : best), -1)];
    };
    hit.addEventListener("pointermove", (event) => {
      const [i, known, chosen] = at(event);
      focus(series.length > 1 ? chosen : -1);
      fill(guide, { x1: x(xs[i]), x2: x(xs[i]), visibility: "visible" }, []);
      known.sort((a, b) => y(series[a].ys[i]) - y(series[b].ys[i]));
      showTip(event, [h("div", { class: "where" }, place(xs[i], unit)), ...known.map((c) =>
        h("div", { class: c === chosen && series.length > 1 ? "key on" : "key" }, swatch(series[c].color),
          nameNode(shorten(series[c].name, 40)), h("b", {}, format(series[c].ys[i], i))))]);
    });
    hit.addEventListener("pointerleave", () => { focus(-1); hideTip(); guide.setAttribute("visibility", "hidden"); });
    hit.addEventListener("click", (event) => { const [, , c] = at(event); if (c >= 0) series[c].pick?.(); });
    if (!labels || !wide) return;
    const last = series.map((one) => y(one.ys.findLast((v) => Number.isFinite(v)) ?? NaN));
    const shown = series.map((_, i) => i).filter((i) => Number.isFinite(last[i]));
    const spots = spread(shown.map((i) => last[i]), 17, top + 6, bottom - 4);
    shown.forEach((i, j) => svg.append(s("g", { class: "end", fill: series[i].color, ...(series[i].pick ? asButton(series[i].pick) : {}),
      "aria-label": `${series[i].name}, now ${format(series[i].ys[xs.length - 1], xs.length - 1)}`,
      onpointerenter: () => focus(i), onpointerleave: () => focus(-1), onfocus: () => focus(i), onblur: () => focus(-1) },
    s("title", {}, series[i].name),
    s("rect", { class: "hit", x: right + 4, y: spots[j] - 9, width: labels - 8, height: 18 }),
    s("path", { class: "leader", stroke: series[i].color, d: `M${right + 2} ${last[i]}L${right + 10} ${spots[j]}` }),
    s("text", { x: right + 14, y: spots[j], dy: "0.32em" },
      shorten(series[i].name, Math.floor((labels - 22) / 7.2))))));
  });
  host.append(legend);
}

function closed(d, bottom) {
  return d.replace(/M([^M]+)/g, (piece, points) => {
    const first = points.split(" ")[0];
    const last = points.slice(points.lastIndexOf("L") + 1).split(" ")[0];
    return points.includes("L") ? `M${first} ${bottom}L${points}L${last} ${bottom}Z` : piece;
  });
}

const swatch = (fillColor) => {
  const node = h("i", { class: "swatch" });
  node.style.background = fillColor;
  return node;
};

// All sparklines have the scale [worst, best], so that they can be compared.
function sparkline(ys, width, height, [worst, best]) {
  const known = [...ys.keys()].filter((i) => Number.isFinite(ys[i]));
  if (known.length < 2) return null;
  const x = linear(0, ys.length - 1, 2, width - 4);
  const scale = linear(worst, best, height - 4, 4);
  const y = (value) => Math.min(height - 4, scale(value));
  const end = known[known.length - 1];
  return s("svg", { class: "spark", width, height, "aria-hidden": "true" },
    s("path", { d: path([...ys.keys()], ys, x, y) }), s("circle", { cx: x(end), cy: y(ys[end]), r: 2.2 }));
}
