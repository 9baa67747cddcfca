// How long to remember: the weights of the half-lives over time, and what each would select.

const SPANS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const halfLife = (value) => (typeof value === "string" ? Infinity : value); // JSON has no infinity

function duration(value, unit) {
  if (value === Infinity) return "no forgetting";
  if (unit !== "seconds") return `${number(value, 3)} ${unit}`.trim();
  const [name, size] = SPANS.find(([, one]) => value >= 2 * one) ?? SPANS[3];
  return `${number(value / size, 2)} ${name}s`;
}

// From the colour of short memories to that of long ones.
const memoryColor = (i, n) => `color-mix(in oklab, var(--c1) ${Math.round(100 * (1 - i / Math.max(1, n - 1)))}%, var(--c0))`;

function drawWeights(host, past, names) {
  const times = [...past.positions.keys()].filter((t) => past.memory_weights.every((ys) => Number.isFinite(ys[t])));
  if (times.length < 2) return;
  const xs = times.map((t) => past.positions[t]);
  host.append(h("h4", {}, "Weight of each half-life over time"));
  plot(host, 220, "Weight of each half-life over time", (svg, width) => {
    const [left, right, top, bottom] = [52, width - 12, 10, 190];
    const [x, y] = [linear(xs[0], xs[xs.length - 1], left, right), linear(0, 1, bottom, top)];
    let below = times.map(() => 0);
    past.memory_weights.forEach((weights, i) => {
      const above = times.map((t, j) => below[j] + weights[t]);
      const up = path(xs, above, x, y);
      const back = path([...xs].reverse(), [...below].reverse(), x, y).replace("M", "L");
      svg.append(s("path", { class: "stack", d: `${up}${back}Z`, fill: memoryColor(i, names.length) }));
      below = above;
    });
    axisY(svg, [0, 0.25, 0.5, 0.75, 1], y, left, right, (v) => `${100 * v}%`);
    const [marks, mark] = timeTicks(xs, right - left, past.unit);
    axisX(svg, marks, x, bottom, mark, [left, right], past.unit);
    hover(svg, [left, right, top, bottom],
      (px) => times[nearest(xs, xs[0] + ((px - left) / (right - left)) * (xs[xs.length - 1] - xs[0]))],
      (t) => [h("div", { class: "where" }, place(past.positions[t], past.unit)), ...names.map((name, i) =>
        h("div", { class: "key" }, swatch(memoryColor(i, names.length)), name, h("b", {}, percent(past.memory_weights[i][t], 0))))]);
  });
}

// "+ what it would add, \u2212 what it would leave out", or that it is the same.
function difference({ added, missed }) {
  if (!added.length) return h("span", { class: "muted" }, "the same");
  const listed = (sign, kind, names) => h("span", { class: "change" }, h("span", { class: `sign ${kind}` }, sign),
    names.slice(0, 3).map((name) => nameNode(name)), names.length > 3 ? h("span", { class: "muted" }, `${names.length - 3} more`) : "");
  return [listed("+", "entered", added), listed("\u2212", "left", missed)];
}

function drawMemory(host, memory, past) {
  const half = memory.half_lives.map(halfLife);
  const names = half.map((value) => duration(value, memory.unit));
  const others = new Map(memory.alternatives.map((one) => [halfLife(one.half_life), one]));
  const best = Math.max(...memory.values);
  host.append(h("p", { class: "memory-sentence" }, memory.text));
  const chart = h("div", {});
  const bar = (i) => {
    const node = h("i", { class: "weight" });
    node.style.width = `${100 * memory.weights[i]}%`;
    node.style.background = memoryColor(i, names.length);
    return h("span", { class: "weight-cell" }, node, h("b", {}, percent(memory.weights[i], 0)));
  };
  const table = h("div", {}, h("h4", {}, "What another memory would select instead"),
    h("div", { class: "scroll" }, h("table", { class: "plain memories" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Half-life"), h("th", { scope: "col" }, "Weight"),
        h("th", { scope: "col", title: "Relevance, in rows that came later, of the features it selected; relative to the best" }, "Worth"),
        h("th", { scope: "col" }, "Would select"))),
      h("tbody", {}, half.map((value, i) => h("tr", {}, h("th", { scope: "row" }, swatch(memoryColor(i, names.length)), names[i]), h("td", {}, bar(i)),
        h("td", {}, best > 0 ? percent(memory.values[i] / best, 0) : "\u2013"),
        h("td", { class: "difference" }, others.has(value) ? difference(others.get(value)) : "\u2013")))))));
  host.append(h("div", { class: "halves" }, chart, table));
  if (past && past.memory_weights.length) drawWeights(chart, past, names);
  if (!chart.childElementCount) chart.remove();
}
