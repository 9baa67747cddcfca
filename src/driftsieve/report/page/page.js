// Puts the report into the page.

const LABELS = { t: "T score", fisher: "Fisher score", mutual_info: "Mutual information", chi2: "Chi-square", gini: "Gini index" };
const SHORT = { t: "T", fisher: "Fisher", mutual_info: "MI", chi2: "\u03c7\u00b2", gini: "Gini" };
const COLUMN = { ...SHORT, mutual_info: "MI, nats" };
const WITH_UNIT = { ...LABELS, mutual_info: "Mutual information, nats" };
const short = (x) => (x < 1e6 ? whole.format(Math.round(x)) : compact.format(x));

function load() {
  const report = JSON.parse(byId("data").textContent);
  const each = (object) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, value && decode(value)]));
  report.features = decode(report.features);
  for (const key of ["scores", "ranks", "log10p"]) report[key] = each(report[key]);
  for (const group of report.distributions) {
    for (const key of ["features", "edges", "weights"]) group[key] = decode(group[key]);
    group.at = new Map(Array.from(group.features, (feature, i) => [feature, i]));
  }
  report.n_listed = report.features.length;
  const others = { features: decode(report.others.features), scores: decode(report.others.scores) };
  const join = (a, b) => { const all = new a.constructor(a.length + b.length); all.set(a); all.set(b, a.length); return all; };
  report.features = join(report.features, others.features);
  report.names = report.names.concat(report.others.names);
  report.scores[report.score] = join(report.scores[report.score], others.scores);
  report.ranks[report.score] = join(report.ranks[report.score], others.features.map((_, i) => report.n_listed + 1 + i));
  const total = report.classes.reduce((sum, one) => sum + one.weight, 0);
  report.entropy = report.classes.reduce((sum, one) => sum - (one.weight > 0 ? (one.weight / total) * Math.log(one.weight / total) : 0), 0);
  report.significant = (key, i) => {
    const limit = report.largest_significant[key];
    if (limit === null || limit === undefined) return true; // not known
    return i < report.n_listed && limit >= 0 && report.log10p[key][i] <= Math.fround(Math.log10(limit));
  };
  // The largest score that is not significant; null where there is none.
  report.level = (key) => {
    if (typeof report.largest_significant[key] !== "number") return null;
    const of = (significant) => Array.from(report.scores[key]).filter((v, i) => Number.isFinite(v) && report.significant(key, i) === significant);
    const [below, above] = [of(false), of(true)];
    if (!below.length) return null;
    return Math.max(0, Math.min(below.reduce((a, b) => Math.max(a, b)), above.reduce((a, b) => Math.min(a, b), Infinity)));
  };
  const past = report.history;
  if (past) {
    past.memory_weights = past.memory_weights.map(decode);
    past.positions = decode(past.positions);
    past.scores = past.scores.map(decode);
    past.ranks = past.ranks.map(decode);
    past.stability = each(past.stability);
    past.at = new Map(past.features.map((feature, i) => [feature, i]));
  }
  // How good a score is between the worst and the best listed, 0 to 1.
  report.best = (key) => {
    const values = report.scores[key].filter(Number.isFinite);
    const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const span = high - low || 1;
    return key === "gini" ? (v) => (high - v) / span : (v) => (v === Infinity ? 1 : Math.max(0, v / (high || 1)));
  };
  const known = past ? past.scores.flatMap((ys) => Array.from(ys).filter(Number.isFinite)) : [];
  const [least, most] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const scale = past?.score === "gini" ? [most, least] : [0, most];
  report.spark = (i) => {
    const at = past.at.get(report.features[i]);
    return at === undefined ? null : sparkline(past.scores[at], 92, 24, scale);
  };
  return report;
}

const entropyShare = (report, i) => {
  const value = report.scores.mutual_info[i];
  return value === undefined ? "\u2013" : percent(Math.max(0, value) / report.entropy);
};

// As many decimals for all scores of a column as the best of them needs for four digits.
function scoreFormat(values) {
  const largest = values.reduce((a, v) => (Number.isFinite(v) ? Math.max(a, Math.abs(v)) : a), 0);
  const decimals = largest > 0 ? Math.min(8, Math.max(0, 3 - Math.floor(Math.log10(largest)))) : 0;
  return (value) => (value === undefined ? "\u2013" : Number.isFinite(value) && largest < 1e5 ? fixed(value, decimals) : number(value));
}

function tiles(report) {
  const past = report.history;
  const stability = past ? past.stability.nogueira.findLast(Number.isFinite) : undefined;
  const certificate = report.certificate;
  const list = [
    report.n_rows !== null && ["Rows", short(report.n_rows), whole.format(report.n_rows)],
    ["Features", short(report.n_features), whole.format(report.n_features)],
    report.classes.length && ["Classes", whole.format(report.classes.length)],
    report.n_eff !== null && ["Effective rows", short(report.n_eff), "How many rows of equal weight tell as much as the faded ones"],
    stability !== undefined && ["Stability now", fixed(stability, 2), `Nogueira's measure of the best ${past.k} over the last 10 records: 1 for the same features each time`],
    past && ["Changes", whole.format(past.n_events), `Features that entered or left the best ${past.k}`],
    certificate && ["Rank error", certificate.largest === 0 ? "none" : `\u2264 ${percent(certificate.largest, 2)}`, "No rank behind the bins is off by more, as a share of the weight"],
  ].filter(Boolean);
  byId("tiles").append(...list.map(([name, value, hint]) => h("div", { title: hint }, h("dt", {}, name), h("dd", {}, value))));
}

function classBar(report) {
  const total = report.classes.reduce((sum, one) => sum + one.weight, 0);
  if (!total) return;
  const shown = report.classes.slice(0, 10);
  const rest = report.classes.slice(10).reduce((sum, one) => sum + one.weight, 0);
  const parts = shown.map((one, c) => [one.label, one.weight, color(c)]);
  if (rest > 0) parts.push([`${report.classes.length - 10} more`, rest, "var(--muted)"]);
  byId("classes").append(
    h("div", { class: "class-bar", "aria-hidden": "true" }, parts.map(([, weight, fillColor]) => {
      const node = h("i", {});
      node.style.flexGrow = weight / total;
      node.style.background = fillColor;
      return node;
    })),
    h("div", { class: "legend" }, parts.map(([label, weight, fillColor]) =>
      h("span", {}, swatch(fillColor), nameNode(label), h("span", { class: "muted" }, percent(weight / total))))));
}

function pairs(host, title, entries, note) {
  host.append(h("h3", {}, title), note ? h("p", {}, note) : "",
    h("dl", { class: "pairs" }, entries.map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])));
}

function certificateText(report) {
  const { certificate, n_features: n } = report;
  if (!certificate) return "This run kept no quantile summaries, so there is no rank error to bound.";
  if (certificate.n_exact === n) return "The quantiles of every feature are exact: no rank behind the bins is off at all.";
  return "No cumulative weight behind the bins differs from the true one by more than this, whatever the order of the rows. Shares are of a feature\u2019s weight.";
}

function run(report) {
  const shown = (value) => (value === null ? "none" : typeof value === "number" ? number(value, 6) : String(value));
  const parameters = Object.entries(report.parameters).map(([key, value]) => [key, shown(value)]);
  pairs(byId("parameters"), "Parameters", parameters, parameters.length ? null : "None were given.");
  const { certificate } = report;
  pairs(byId("certificate"), "Error certificate", certificate ? [
    ...("epsilon" in report.parameters ? [["promised (\u03b5)", percent(report.parameters.epsilon, 2)]] : []),
    ["largest", percent(certificate.largest, 3)],
    ["median", percent(certificate.median, 3)],
    ["exact features", `${whole.format(certificate.n_exact)} of ${whole.format(report.n_features)}`],
  ] : [], certificateText(report));
  pairs(byId("versions"), "Versions", Object.entries(report.versions));
}

// The reader's preference, until they choose.
function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = byId("theme");
  const set = (name) => {
    const other = name === "dark" ? "light" : "dark";
    root.dataset.theme = name;
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.title = `Switch to ${other} colours`;
  };
  const follow = () => set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", follow);
  button.addEventListener("click", () => {
    dark.removeEventListener("change", follow);
    set(root.dataset.theme === "dark" ? "light" : "dark");
  });
  follow();
}

function start() {
  const report = load();
  const past = report.history;
  byId("title").textContent = report.title;
  byId("headline").textContent = report.headline;
  const listed = report.n_listed;
  byId("lede").textContent = `${LABELS[report.score]} of ${whole.format(report.n_features)} features`
    + (report.n_rows !== null ? ` over ${whole.format(report.n_rows)} rows` : "")
    + (listed < report.n_features ? `; the best ${whole.format(listed)} are listed` : "")
    + (listed < report.names.length ? `, the best ${whole.format(report.names.length)} can be searched` : "") + `. ${report.significance}`;
  theme();
  tiles(report);
  classBar(report);
  run(report);

  const detail = new Detail(byId("detail"), report);
  const table = new Table(byId("grid"), report, (i) => detail.show(i));
  const count = () => {
    byId("count").textContent = table.view.length === listed ? `${whole.format(listed)} ${listed < report.n_features ? "listed" : "features"}`
      : `${whole.format(table.view.length)} of ${whole.format(report.names.length)}`;
  };
  const by = byId("by");
  by.append(...Object.keys(report.scores).map((key) => h("option", { value: key, selected: key === report.score }, LABELS[key])));
  by.addEventListener("change", () => { report.score = by.value; table.by(by.value); count(); table.go(0); });
  const search = byId("search");
  search.addEventListener("input", () => { table.search(search.value); count(); });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); table.go(0); table.body.focus(); }
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); search.focus(); }
  });
  const pick = (feature) => {
    if (table.reveal(feature)) return;
    search.value = "";
    table.search("");
    count();
    table.reveal(feature);
  };
  table.by(report.score);
  count();
  if (listed) table.go(0);

  if (past) {
    const place = new Map(Array.from(report.features, (feature, i) => [feature, i]));
    const significant = (feature) => report.significant(past.score, place.get(feature));
    drawLines(byId("lines"), past, report.level(past.score), significant, pick);
    drawHeat(byId("heat"), past, pick);
    drawSpans(byId("spans"), past, pick);
    drawStability(byId("stability"), past);
    drawEvents(byId("events"), past, pick);
  } else {
    for (const id of ["overtime", "changes"]) {
      byId(id).hidden = true;
      document.querySelector(`nav a[href="#${id}"]`).hidden = true;
    }
  }
  if (report.memory) drawMemory(byId("memory-text"), report.memory, past);
  else {
    byId("memory").hidden = true;
    document.querySelector('nav a[href="#memory"]').hidden = true;
  }
  byId("footer").textContent = `Made by Driftsieve ${report.versions.driftsieve} on ${report.created.slice(0, 16).replace("T", " ")} UTC. This file is complete: it loads nothing.`;
}

start();
