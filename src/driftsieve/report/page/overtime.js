// What the history knows: ranks and scores over time, the heat map, who was in when, stability.

const SHOWN = 10;
const ROWS = 40;

// A dozen ranks have a line each; of more, log2: the top matters most, and 50,000 has a place too.
function rankAxis(worst) {
  const some = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5, 1e6, 1e7];
  const few = worst <= 12;
  const at = few ? (rank) => rank : Math.log2;
  return {
    of: (top, bottom) => {
      const y = linear(at(1), at(Math.max(2, worst)), top, bottom);
      return (rank) => y(at(rank));
    },
    values: few ? Array.from({ length: Math.max(2, worst) }, (_, i) => i + 1) : some.filter((rank) => rank <= worst),
    format: (rank) => compact.format(rank),
    title: "Rank",
  };
}

function scoreAxis(series, lowerIsBetter, count = 5) {
  const values = series.flatMap((one) => [...one.ys]).filter(Number.isFinite);
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (!lowerIsBetter) low = 0;
  if (low === high) high = low + (Math.abs(low) || 1);
  return {
    of: (top, bottom) => {
      const y = lowerIsBetter ? linear(low, high, top, bottom) : linear(low, high, bottom, top);
      return (value) => y(Math.max(low, value)); // less than nothing, as noise may have, is drawn as nothing
    },
    values: ticks(low, high, count),
    format: (value) => number(value, 3),
  };
}

// level: the largest score of now that is not significant, or null. Features that are not significant
// and never led are grey.
function drawLines(host, past, level, significant, pick) {
  const state = { what: "score", who: "ever" };
  const better = past.score === "gini" ? (a, b) => Math.min(a, b) : (a, b) => Math.max(a, b);
  const peak = past.scores.map((ys) => ys.filter(Number.isFinite).reduce(better, past.score === "gini" ? Infinity : -Infinity));
  const area = h("div", { class: "area-of-plot" });
  const draw = () => {
    const chosen = past.features.map((_, i) => i);
    if (state.who === "ever") chosen.sort((a, b) => (better(peak[a], peak[b]) === peak[a] ? -1 : 1) * (peak[a] !== peak[b]) || a - b);
    let coloured = 0;
    const series = chosen.slice(0, SHOWN).map((i) => ({
      name: nameText(past.names[i]),
      color: past.ranks[i].some((rank) => rank > 0 && rank <= past.k) || significant(past.features[i]) ? color(coloured++) : "var(--faint)",
      pick: () => pick(past.features[i]),
      ys: state.what === "rank" ? [...past.ranks[i]].map((rank) => rank || NaN) : [...past.scores[i]],
    }));
    const worst = Math.max(past.k, ...series.flatMap((one) => one.ys.filter(Number.isFinite)));
    area.replaceChildren();
    lines(area, 360, `${state.what === "rank" ? "Rank" : LABELS[past.score]} over time`, {
      xs: past.positions, unit: past.unit, series, format: (value) => number(value),
      yAxis: state.what === "rank" ? rankAxis(worst) : { ...scoreAxis(series, past.score === "gini"), title: WITH_UNIT[past.score] },
      limit: state.what === "score" && level !== null ? { value: level, text: "not significant below" } : null,
    });
  };
  host.append(
    figureHead("The leaders", `The ${Math.min(SHOWN, past.features.length)} with the best ${LABELS[past.score].toLowerCase()}. Point at a line to read it, click it to see the feature.`,
      segmented("Features shown", [["ever", "Best at any time"], ["now", "Best now"]], state.who, (who) => { state.who = who; draw(); }),
      segmented("Measure shown", [["score", "Score"], ["rank", "Rank"]], state.what, (what) => { state.what = what; draw(); })),
    area);
  draw();
}

// Features that were among the best k, those that were so early on top.
function everBest(past) {
  const rows = past.features.map((_, i) => {
    const inside = [...past.ranks[i].keys()].filter((t) => past.ranks[i][t] > 0 && past.ranks[i][t] <= past.k);
    return { i, times: inside.length, middle: inside.reduce((a, t) => a + t, 0) / inside.length };
  }).filter((row) => row.times > 0);
  rows.sort((a, b) => b.times - a.times || a.i - b.i);
  const most = rows.slice(0, ROWS);
  most.sort((a, b) => a.middle - b.middle || a.i - b.i);
  return [most.map((row) => row.i), rows.length];
}

function buckets(k) {
  const limits = [Math.ceil(k / 4), Math.ceil(k / 2), k, 2 * k, 5 * k, Infinity];
  return limits.filter((limit, i) => i === 0 || limit > limits[i - 1]);
}

// A chart with one row for each feature: labels on the left, time along the bottom.
function rowChart(host, label, past, rows, drawRows) {
  const [size, gutter] = [20, 190];
  plot(host, rows.length * size + 34, label, (svg, width) => {
    const longest = Math.max(...rows.map((row) => row.name.length), 0) * 7.2 + 16;
    const [left, right, bottom] = [Math.max(44, Math.min(longest, width > 480 ? gutter : 0.42 * width)), width - 12, rows.length * size + 4];
    const xs = past.positions;
    const x = linear(xs[0], xs[xs.length - 1], left, right);
    const letters = Math.floor((left - 14) / 7.2);
    rows.forEach((row, r) => svg.append(s("g", { class: "row-label", "aria-label": `Show ${row.name}`, ...asButton(row.pick) },
      s("title", {}, row.name),
      s("rect", { class: "hit", x: 0, y: r * size + 2, width: left - 6, height: size }),
      s("text", { x: left - 10, y: r * size + size / 2 + 2, dy: "0.32em", "text-anchor": "end" }, shorten(row.name, letters)))));
    drawRows(svg, { x, left, right, size, top: 2, bottom });
    const [marks, mark] = timeTicks(xs, right - left, past.unit);
    axisX(svg, marks, x, bottom, mark, [left, right], past.unit);
  });
}

function drawHeat(host, past, pick) {
  const [chosen, all] = everBest(past);
  const limits = buckets(past.k);
  const rows = chosen.map((i) => ({ name: nameText(past.names[i]), pick: () => pick(past.features[i]) }));
  const words = limits.map((limit, b) => {
    const from = b ? limits[b - 1] + 1 : 1;
    return limit === Infinity ? `${from} and worse` : from === limit ? `${from}` : `${from}\u2013${limit}`;
  });
  host.append(figureHead("Rank of every feature that led",
    `${all > ROWS ? `The ${ROWS} that were most often` : "All that were"} among the best ${past.k}, early leaders on top.`,
    h("div", { class: "legend" }, "Rank", words.map((word, b) =>
      h("span", {}, h("i", { class: `swatch heat${b + 6 - limits.length}` }), word)))));
  rowChart(host, "Ranks of the leaders over time", past, rows, (svg, { left, right, size, top, bottom }) => {
    const n = past.positions.length;
    // Each record reaches half way to its neighbours.
    const x = linear(past.positions[0], past.positions[n - 1], left, right);
    const cut = Array.from({ length: n + 1 }, (_, t) =>
      (t === 0 ? left : t === n ? right : (x(past.positions[t - 1]) + x(past.positions[t])) / 2));
    const bucket = (rank) => limits.findIndex((limit) => rank <= limit);
    const cells = limits.map(() => "");
    chosen.forEach((i, r) => {
      const ranks = past.ranks[i];
      for (let t = 0; t < n;) {
        const b = ranks[t] > 0 ? bucket(ranks[t]) : -1;
        let end = t + 1;
        while (end < n && (ranks[end] > 0 ? bucket(ranks[end]) : -1) === b) end++;
        if (b >= 0) cells[b] += `M${cut[t].toFixed(1)} ${r * size + top + 1}H${cut[end].toFixed(1)}v${size - 2}H${cut[t].toFixed(1)}Z`;
        t = end;
      }
    });
    cells.forEach((d, b) => svg.append(s("path", { class: `heat${b + 6 - limits.length}`, d })));
    const hit = s("rect", { class: "hit", x: left, y: top, width: right - left, height: bottom - top });
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const r = Math.min(rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top - top) / size)));
      const t = cut.findIndex((edge) => edge > event.clientX - box.left) - 1;
      return [r, t < 0 ? n - 1 : t];
    };
    hit.addEventListener("pointermove", (event) => {
      const [r, t] = at(event);
      const rank = past.ranks[chosen[r]][t];
      showTip(event, [h("div", { class: "where" }, place(past.positions[t], past.unit)), nameNode(rows[r].name),
        rank > 0 ? `rank ${number(rank)}, score ${number(past.scores[chosen[r]][t])}` : "not followed yet"]);
    });
    hit.addEventListener("pointerleave", hideTip);
    hit.addEventListener("click", (event) => rows[at(event)[0]].pick());
    svg.append(hit);
  });
}

// The stretches in which each feature was in, from the events; null where an end is not known.
function stretches(past) {
  const found = new Map();
  const of = (event) => {
    if (!found.has(event.feature)) found.set(event.feature, { feature: event.feature, name: nameText(event.name), spans: [] });
    return found.get(event.feature);
  };
  for (const event of past.events) {
    const { spans } = of(event);
    const open = spans[spans.length - 1];
    if (event.kind === "entered") spans.push({ from: event.position, to: null });
    else if (open && open.to === null) open.to = event.position;
    else spans.push({ from: null, to: event.position });
  }
  const names = new Map(past.features.map((feature, i) => [feature, nameText(past.names[i])]));
  for (const feature of past.members) {
    if (!found.has(feature)) of({ feature, name: names.get(feature) ?? `x${feature}` }).spans.push({ from: null, to: null });
  }
  return [...found.values()];
}

function drawSpans(host, past, pick) {
  const [first, last] = [past.positions[0], past.positions[past.positions.length - 1]];
  const from = (span) => span.from ?? first;
  const to = (span) => span.to ?? last;
  const all = stretches(past);
  const time = (row) => row.spans.reduce((sum, span) => sum + to(span) - from(span), 0);
  const rows = all.sort((a, b) => time(b) - time(a)).slice(0, ROWS);
  rows.sort((a, b) => from(a.spans[0]) - from(b.spans[0]) || time(b) - time(a));
  rows.forEach((row) => { row.pick = () => pick(row.feature); });
  host.append(figureHead("When each feature was in",
    `A feature enters at rank ${past.k} and leaves behind rank ${past.k + past.margin}.`
    + (all.length > ROWS ? ` The ${ROWS} that were in the longest, of ${whole.format(all.length)}.` : ""),
    h("div", { class: "legend" },
      h("span", {}, h("i", { class: "swatch in" }), "in now"), h("span", {}, h("i", { class: "swatch out" }), "left"))));
  rowChart(host, "When each feature was in", past, rows, (svg, { x, left, right, size, top }) => {
    rows.forEach((row, r) => {
      svg.append(s("line", { class: "lane", x1: left, x2: right, y1: r * size + top + size / 2, y2: r * size + top + size / 2 }));
      for (const span of row.spans) {
        const begin = Math.max(left, x(from(span)));
        const bar = s("rect", { class: span.to === null ? "span in" : "span out", x: begin, y: r * size + top + 4,
          width: Math.max(3, x(to(span)) - begin), height: size - 8, rx: 3 });
        bar.addEventListener("pointermove", (event) => showTip(event, [nameNode(row.name),
          span.from === null ? "in from before the oldest change kept" : `entered at ${place(span.from, past.unit)}`,
          span.to === null ? "in now" : `left at ${place(span.to, past.unit)}`]));
        bar.addEventListener("pointerleave", hideTip);
        bar.addEventListener("click", row.pick);
        svg.append(bar);
      }
    });
  });
}

function drawStability(host, past) {
  const series = [
    { name: "Nogueira", color: color(0), ys: past.stability.nogueira },
    { name: "Jaccard", color: color(1), ys: past.stability.jaccard },
  ];
  const low = Math.min(0, ...series.flatMap((one) => [...one.ys].filter(Number.isFinite)));
  host.append(figureHead(`Stability of the best ${past.k}`, "Nogueira: over 10 records, 1 for the same features each time, 0 for features drawn at random. Jaccard: with the record before."));
  lines(host, 190, "Stability over time", { xs: past.positions, unit: past.unit, series, labels: 90, format: (v) => fixed(v, 3),
    yAxis: { of: (top, bottom) => linear(low, 1, bottom, top), values: ticks(low, 1, 4), format: (v) => number(v) } });
}

function drawEvents(host, past, pick) {
  const missing = past.n_events - past.events.length;
  const items = past.events.slice().reverse().map((event) => h("li", {},
    h("button", { type: "button", class: "event", onclick: () => pick(event.feature) },
      h("span", { class: `sign ${event.kind}` }, event.kind === "entered" ? "+" : "\u2212"),
      nameNode(event.name),
      h("span", { class: "muted" }, event.kind, " at rank ", number(event.rank)),
      h("span", { class: "when" }, place(event.position, past.unit)))));
  host.append(
    figureHead("Changes", `${whole.format(past.n_events)} in all, newest first.`),
    h("ol", { class: "events", tabindex: 0, "aria-label": "Changes, newest first" }, items),
    missing > 0 ? h("p", { class: "muted" }, `${whole.format(missing)} older changes were not kept.`) : "");
}
