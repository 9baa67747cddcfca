// One feature: its scores, its score over time, and how it is distributed in each class.

const MANY = 6; // more classes than this are drawn as a heat map

// Bins of one feature without those that no value can be in: {low, high, weights by class}.
function binsOf(report, feature) {
  const group = report.distributions.find((g) => g.at.has(feature));
  if (!group) return null;
  const [row, k, c] = [group.at.get(feature), group.n_bins, report.classes.length];
  const edges = group.edges.subarray(row * (k - 1), (row + 1) * (k - 1));
  const weights = group.weights.subarray(row * k * c, (row + 1) * k * c);
  const bins = [];
  for (let b = 0; b < k; b++) {
    const [low, high] = [b ? edges[b - 1] : -Infinity, b < k - 1 ? edges[b] : Infinity];
    const own = weights.subarray(b * c, (b + 1) * c);
    if (low < high && (Number.isFinite(low) || Number.isFinite(high)) && (b < k - 1 || own.some((w) => w > 0))) {
      bins.push({ low, high, weights: own });
    }
  }
  const totals = report.classes.map((_, i) => bins.reduce((sum, bin) => sum + bin.weights[i], 0));
  return { bins, totals, all: totals.reduce((a, b) => a + b, 0) };
}

const interval = ({ low, high }) =>
  (low === -Infinity ? `x \u2264 ${number(high)}` : high === Infinity ? `x > ${number(low)}` : `${number(low)} < x \u2264 ${number(high)}`);

function binTip(report, found, b) {
  const bin = found.bins[b];
  return [h("div", { class: "where" }, interval(bin)), ...report.classes.slice(0, 12).map((one, c) =>
    h("div", { class: "key" }, swatch(color(c)), nameNode(one.label), h("b", {}, percent(bin.weights[c] / (found.totals[c] || 1)))))];
}

// Edges as tick labels, as many as have room.
function edgeTicks(svg, bins, x, bottom, room) {
  const inner = bins.slice(0, -1).map((bin, b) => [b + 1, number(bin.high, 3)]);
  let free = -Infinity;
  for (const [place, text] of inner) {
    const half = text.length * 3.6 + 6;
    if (x(place) - half < free || x(place) + half > room) continue;
    free = x(place) + half;
    svg.append(s("g", { class: "axis", transform: `translate(${x(place)} ${bottom})` },
      s("line", { y2: 5 }), s("text", { y: 18, "text-anchor": "middle" }, text)));
  }
}

function hover(svg, [left, right, top, bottom], locate, lines) {
  const hit = s("rect", { class: "hit", x: left, y: top, width: right - left, height: bottom - top });
  hit.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    showTip(event, lines(locate(event.clientX - box.left, event.clientY - box.top)));
  });
  hit.addEventListener("pointerleave", hideTip);
  svg.append(hit);
}

// Share of each class in each bin: where the steps differ, the feature tells the classes apart.
function drawBins(host, report, found) {
  const { bins, totals } = found;
  plot(host, 210, "Share of each class in each quantile bin", (svg, width) => {
    const [left, right, top, bottom] = [44, width - 8, 10, 180];
    const share = (b, c) => bins[b].weights[c] / (totals[c] || 1);
    const most = Math.max(...bins.flatMap((_, b) => report.classes.map((_, c) => share(b, c))), 1e-9);
    const x = linear(0, bins.length, left, right);
    const y = linear(0, most, bottom, top);
    axisY(svg, ticks(0, most, 5), y, left, right, (v) => `${number(100 * v)}%`);
    report.classes.forEach((_, c) => {
      const steps = bins.map((_, b) => `V${y(share(b, c)).toFixed(1)}H${x(b + 1).toFixed(1)}`).join("");
      svg.append(s("g", { class: "series", stroke: color(c), fill: color(c) },
        s("path", { class: "area", d: `M${left} ${bottom}${steps}V${bottom}Z` }),
        s("path", { class: "line", d: `M${left} ${y(share(0, c)).toFixed(1)}${steps}` })));
    });
    edgeTicks(svg, bins, x, bottom, width);
    hover(svg, [left, right, top, bottom],
      (px) => Math.min(bins.length - 1, Math.max(0, Math.floor(((px - left) / (right - left)) * bins.length))),
      (b) => binTip(report, found, b));
  });
}

// Many classes: one row each, as dark as the bin's share of the class.
function drawClassRows(host, report, found) {
  const { bins, totals } = found;
  const size = report.classes.length > 20 ? 12 : 18;
  plot(host, report.classes.length * size + 34, "Share of each class in each quantile bin", (svg, width) => {
    const letters = Math.min(16, Math.max(...report.classes.map((one) => one.label.length)));
    const [left, right, bottom] = [7.2 * letters + 14, width - 8, report.classes.length * size + 4];
    const share = (b, c) => bins[b].weights[c] / (totals[c] || 1);
    const most = Math.max(...bins.flatMap((_, b) => report.classes.map((_, c) => share(b, c))), 1e-9);
    const x = linear(0, bins.length, left, right);
    report.classes.forEach((one, c) => {
      svg.append(s("g", { class: "row-label" }, s("title", {}, one.label), s("text", { x: left - 8, y: c * size + size / 2 + 2, dy: "0.32em", "text-anchor": "end" }, shorten(one.label, letters))));
      bins.forEach((_, b) => svg.append(s("rect", { class: "heat0", x: x(b), y: c * size + 3, width: x(b + 1) - x(b) - 1, height: size - 2,
        "fill-opacity": (0.06 + 0.94 * (share(b, c) / most)).toFixed(3) })));
    });
    edgeTicks(svg, bins, x, bottom, width);
    hover(svg, [left, right, 2, bottom],
      (px, py) => [Math.min(bins.length - 1, Math.max(0, Math.floor(((px - left) / (right - left)) * bins.length))),
        Math.min(report.classes.length - 1, Math.max(0, Math.floor((py - 2) / size)))],
      ([b, c]) => [h("div", { class: "where" }, interval(bins[b])), nameNode(report.classes[c].label), percent(share(b, c))]);
  });
}

// The names of the two values of a feature that has no others; null for all others.
function valueNames(report, feature) {
  const values = report.two_valued[feature];
  if (!values) return null;
  const name = report.names[report.features.indexOf(feature)];
  const category = name.slice(name.indexOf("=") + 1);
  return name.includes("=") && values[0] === 0 && values[1] === 1 ? [`not ${category}`, category] : values.map((value) => number(value));
}

function drawTwo(host, report, found, names) {
  const { bins, totals } = found;
  const n = report.classes.length;
  plot(host, 210, "Share of each class with each value", (svg, width) => {
    const [left, right, top, bottom] = [44, width - 8, 16, 180];
    const share = (b, c) => bins[b].weights[c] / (totals[c] || 1);
    const y = linear(0, 1, bottom, top);
    axisY(svg, [0, 0.25, 0.5, 0.75, 1], y, left, right, (v) => `${100 * v}%`);
    const group = (right - left) / 2;
    const bar = Math.min(44, (group - 24) / n);
    names.forEach((name, b) => {
      const middle = left + group * (b + 0.5);
      svg.append(s("text", { class: "value", x: middle, y: bottom + 18, "text-anchor": "middle" }, shorten(name, Math.floor(group / 7))));
      report.classes.forEach((_, c) => {
        const x = middle + (c - n / 2) * bar + 1;
        svg.append(s("rect", { class: "bar", x, y: y(share(b, c)), width: bar - 2, height: Math.max(1, bottom - y(share(b, c))), fill: color(c), rx: 2 }),
          bar > 34 ? s("text", { x: x + bar / 2 - 1, y: y(share(b, c)) - 4, "text-anchor": "middle" }, `${Math.round(100 * share(b, c))}%`) : "");
      });
    });
    hover(svg, [left, right, top, bottom], (px) => (px < left + group ? 0 : 1),
      (b) => [h("div", { class: "where" }, names[b]), ...binTip(report, found, b).slice(1)]);
  });
}

// Share of each class at or below a value, known at the edges.
function drawCumulative(host, report, found) {
  const { bins, totals } = found;
  const values = bins.slice(0, -1).map((bin) => bin.high);
  const shares = report.classes.map((_, c) => {
    let sum = 0;
    return bins.slice(0, -1).map((bin) => (sum += bin.weights[c]) / (totals[c] || 1));
  });
  plot(host, 210, "Cumulative share of each class", (svg, width) => {
    const [left, right, top, bottom] = [44, width - 8, 10, 180];
    const x = linear(values[0], values[values.length - 1], left, right);
    const y = linear(0, 1, bottom, top);
    axisY(svg, [0, 0.25, 0.5, 0.75, 1], y, left, right, (v) => `${100 * v}%`);
    axisX(svg, ticks(values[0], values[values.length - 1], 4), x, bottom, (v) => number(v, 3), [left, right]);
    shares.forEach((ys, c) => svg.append(s("g", { class: "series", stroke: color(c), fill: color(c) },
      s("path", { class: "line", d: path(values, ys, x, y) }),
      values.map((v, i) => s("circle", { cx: x(v), cy: y(ys[i]), r: 2.2, stroke: "none" })))));
    hover(svg, [left, right, top, bottom],
      (px) => nearest(values, values[0] + ((px - left) / (right - left)) * (values[values.length - 1] - values[0])),
      (i) => [h("div", { class: "where" }, `x \u2264 ${number(values[i])}`), ...report.classes.map((one, c) =>
        h("div", { class: "key" }, swatch(color(c)), nameNode(one.label), h("b", {}, percent(shares[c][i]))))]);
  });
}

class Detail {
  constructor(host, report) {
    this.host = host;
    this.report = report;
    this.kind = "bins";
  }

  show(i) {
    const { report } = this;
    const feature = report.features[i];
    this.host.replaceChildren(
      h("h3", { class: "feature-name" }, nameNode(report.names[i])),
      h("p", { class: "muted" }, `feature ${whole.format(feature)}, counted from 0`),
      h("table", { class: "plain" },
        h("thead", {}, h("tr", {}, ["Score", "Value", "p-value", "Rank"].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", {}, Object.keys(report.scores).filter((key) => i < report.n_listed || report.scores[key][i] !== undefined).map((key) => h("tr", { class: key === report.score ? "on" : null },
          h("th", { scope: "row" }, LABELS[key]),
          h("td", {}, number(report.scores[key][i])),
          h("td", {}, pvalue(report.log10p[key]?.[i] ?? NaN)),
          h("td", {}, whole.format(report.ranks[key][i])))))));
    if (report.entropy > 0 && report.scores.mutual_info) {
      this.host.append(h("p", { class: "muted" }, `Mutual information is in nats: ${entropyShare(report, i)} of the label\u2019s entropy, ${number(report.entropy)}.`));
    }
    if (!report.significant(report.score, i)) this.host.append(h("p", { class: "muted" }, "Not significant: features without any relation to the label often score as much."));
    this.trend(feature);
    this.distribution(feature);
  }

  trend(feature) {
    const past = this.report.history;
    if (!past || past.score !== this.report.score) return;
    const at = past.at.get(feature);
    const box = h("div", {});
    this.host.append(h("h4", {}, `${LABELS[past.score]} over time`), box);
    if (at === undefined) {
      box.append(h("p", { class: "muted" }, "The history does not follow this feature: it was not among the best."));
      return;
    }
    const series = [{ name: nameText(this.report.names[this.report.features.indexOf(feature)]), color: "var(--accent)", ys: past.scores[at] }];
    lines(box, 140, "Score over time", { xs: past.positions, unit: past.unit, series, labels: 0, area: past.score !== "gini",
      format: (v, t) => `${number(v)}, rank ${whole.format(past.ranks[at][t])}`,
      yAxis: scoreAxis(series, past.score === "gini", 3) });
  }

  distribution(feature) {
    const { report } = this;
    if (!report.classes.length) return;
    const found = binsOf(report, feature);
    this.host.append(h("h4", {}, "Distribution in each class"));
    if (!found || !found.all) {
      this.host.append(h("p", { class: "muted" }, "This report holds no distribution of this feature."));
      return;
    }
    if (found.bins.length < 2) {
      this.host.append(h("p", { class: "muted" }, `All of the weight that counts is at one value${Number.isFinite(found.bins[0]?.high) ? `, ${number(found.bins[0].high)}` : ""}.`));
      return;
    }
    const many = report.classes.length > MANY;
    const two = many ? null : valueNames(report, feature);
    const area = h("div", {});
    const draw = () => {
      area.replaceChildren();
      if (many) drawClassRows(area, report, found);
      else if (two) drawTwo(area, report, found, two);
      else if (this.kind === "bins") drawBins(area, report, found);
      else drawCumulative(area, report, found);
    };
    const choice = !many && !two && found.bins.length > 2
      ? segmented("Distribution shown as", [["bins", "Bins"], ["cumulative", "Cumulative"]], this.kind, (kind) => { this.kind = kind; draw(); })
      : null;
    if (!choice) this.kind = "bins";
    const legend = many ? null : h("div", { class: "legend" }, report.classes.map((one, c) => h("span", {}, swatch(color(c)), nameNode(one.label))));
    this.host.append(h("div", { class: "figure-head" }, legend ?? "", choice ?? ""), area,
      h("p", { class: "muted" }, two ? "Share of each class with each value." : many || this.kind === "bins" ? "Share of each class in each quantile bin; a bin ends at the value below it." : ""));
    draw();
  }
}
