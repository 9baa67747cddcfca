// The ranking. Only the rows in view exist, so that 100,000 features scroll, sort and search freely.

const ROW = 34;
const PRINTED = 50;

// 10 comes after 9 in names: digits are padded once, then plain comparison does.
const naturalKey = (name) => name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));

class Table {
  constructor(host, report, select) {
    this.report = report;
    this.select = select;
    this.n = report.n_listed;
    this.order = Int32Array.from({ length: this.n }, (_, i) => i);
    this.others = Array.from({ length: report.names.length - this.n }, (_, i) => this.n + i); // found by search only
    this.view = this.order;
    this.sorted = { key: "rank", down: false };
    this.active = 0;
    this.pool = [];
    this.head = h("div", { class: "row headings", role: "row", "aria-rowindex": 1 });
    this.space = h("div", { class: "space", role: "presentation" });
    this.body = h("div", { class: "scroller", role: "grid", tabindex: 0, "aria-label": "Ranking of features",
      onkeydown: (event) => this.key(event), onscroll: () => this.later() }, this.head, this.space);
    this.body.style.maxHeight = `${this.n * ROW + 58}px`; // a short table needs no tall box
    host.append(this.body);
    new ResizeObserver(() => this.later()).observe(this.body);
    this.narrow = matchMedia("(max-width: 640px)");
    this.narrow.addEventListener("change", () => this.by(this.score));
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  // The columns for one of the scores; those of the others are ranks.
  by(score) {
    const { report } = this;
    this.score = score;
    const others = Object.keys(report.scores).filter((key) => key !== score);
    const p = report.log10p[score];
    const wide = !this.narrow.matches;
    const rankOf = (key, i) => {
      const rank = report.ranks[key][i];
      return rank === undefined ? "\u2013" : key !== score && rank >= 1e4 ? compact.format(rank) : whole.format(rank);
    };
    this.best = report.best(score);
    this.write_score = scoreFormat(report.scores[score]);
    this.columns = [
      { key: "rank", title: "Rank", order: report.ranks[score], text: (i) => rankOf(score, i) },
      { key: "name", title: "Feature", class: "left", node: (i) => nameNode(report.names[i]) },
      wide && report.history?.score === score && { key: "trend", title: "Trend", node: (i) => report.spark(i) },
      { key: "score", title: COLUMN[score], hint: LABELS[score], order: report.ranks[score], node: (i) => this.scoreCell(i) },
      wide && score === "mutual_info" && report.entropy > 0 && { key: "share", title: "of label", class: "other",
        hint: `Share of the entropy of the label, ${number(report.entropy)} nats`, order: report.ranks[score], text: (i) => entropyShare(report, i) },
      p && { key: "p", title: "p-value", order: p, text: (i) => pvalue(p[i]) },
      ...(wide ? others : []).map((key) => ({ key, title: SHORT[key], class: "other", hint: `Rank by ${LABELS[key].toLowerCase()}`,
        order: report.ranks[key], text: (i) => rankOf(key, i) })),
    ].filter(Boolean);
    // The name takes what the others leave; ranks and p-values take what the longest listed needs.
    const widths = wide ? { trend: 112, score: 92, share: 74, name: 110 } : { score: 74, name: 64 };
    const longest = (c) => Array.from({ length: this.n }, (_, i) => c.text(i).length).reduce((a, b) => Math.max(a, b), 0);
    const pixels = this.columns.map((c) => widths[c.key] ?? Math.max(c.key === "p" ? 64 : 54, 9.5 * longest(c) + (wide ? 20 : 12)));
    this.body.style.setProperty("--columns", pixels.map((w, i) => (this.columns[i].key === "name" ? `minmax(${w}px, 1fr)` : `${w}px`)).join(" "));
    this.body.style.setProperty("--columns-printed", pixels.map((w) => `minmax(0, ${w}fr)`).join(" "));
    this.body.style.setProperty("--rank", `${pixels[0]}px`);
    this.body.style.setProperty("--least", `${pixels.reduce((a, b) => a + b, wide ? 16 : 0)}px`);
    this.body.setAttribute("aria-colcount", this.columns.length);
    this.head.replaceChildren(...this.columns.map((column) => {
      const sortable = column.order || column.key === "name";
      return h("div", { class: `cell ${column.class ?? ""}`, role: "columnheader", title: column.hint },
        sortable ? h("button", { type: "button", onclick: () => this.sort(column.key) }, column.title) : column.title);
    }));
    this.pool.forEach((row) => row.remove());
    this.pool = [];
    this.sort("rank", false);
  }

  scoreCell(i) {
    const value = this.report.scores[this.score][i];
    const bar = h("i", {});
    bar.style.width = `${100 * this.best(value)}%`;
    return h("span", { class: "score" }, this.write_score(value), bar);
  }

  sort(key, down = this.sorted.key === key && !this.sorted.down) {
    const main = this.report.ranks[this.score];
    const column = this.columns.find((c) => c.key === key);
    const values = column.order ?? (this.names ??= this.report.names.map(naturalKey));
    const sign = down ? -1 : 1;
    this.sorted = { key, down };
    this.order = this.order.slice().sort((a, b) =>
      (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : main[a] - main[b]));
    this.columns.forEach((c, i) => {
      const at = this.head.children[i];
      if (c.key === key) at.setAttribute("aria-sort", down ? "descending" : "ascending");
      else at.removeAttribute("aria-sort");
    });
    this.search(this.query ?? "");
  }

  search(query) {
    this.query = query;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.lower ??= this.report.names.map((name) => name.toLowerCase());
    const matches = (i) => words.every((word) => this.lower[i].includes(word));
    this.view = words.length ? [...this.order.filter(matches), ...this.others.filter(matches)] : this.order;
    this.space.style.height = `${this.view.length * ROW}px`;
    this.body.setAttribute("aria-rowcount", this.view.length + 1);
    this.body.scrollTop = 0;
    this.active = 0;
    this.render();
  }

  later() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.render(); });
  }

  render() {
    const height = this.printing ? PRINTED * ROW : this.body.clientHeight;
    const first = this.printing ? 0 : Math.max(0, Math.floor(this.body.scrollTop / ROW) - 2);
    const count = Math.min(this.view.length - first, Math.ceil(height / ROW) + (this.printing ? 0 : 4));
    while (this.pool.length < count) {
      const row = h("div", { class: "row", role: "row", onclick: (event) => this.go(Number(event.currentTarget.dataset.at)) },
        this.columns.map((c) => h("div", { class: `cell ${c.class ?? ""}`, role: "gridcell" })));
      this.pool.push(row);
      this.space.append(row);
    }
    this.pool.forEach((row, r) => {
      row.hidden = r >= count;
      if (!row.hidden) this.write(row, first + r);
    });
    this.body.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  write(row, at) {
    const i = this.view[at];
    row.id = `row-${at}`;
    row.dataset.at = at;
    row.style.transform = `translateY(${at * ROW}px)`;
    row.setAttribute("aria-rowindex", at + 2);
    row.setAttribute("aria-selected", String(this.report.features[i] === this.chosen));
    row.classList.toggle("active", at === this.active);
    const faint = (place) => !this.report.significant(this.score, this.view[place]);
    row.classList.toggle("faint", faint(at));
    row.classList.toggle("limit", this.sorted.key !== "name" && !this.sorted.down && at > 0 && faint(at) && !faint(at - 1));
    this.columns.forEach((column, c) => {
      const content = column.text ? column.text(i) : column.node(i);
      row.children[c].replaceChildren(content ?? "");
    });
  }

  // Make the row at this place the current one, show its feature, and bring it into view.
  go(at) {
    if (!this.view.length) return;
    this.active = Math.max(0, Math.min(this.view.length - 1, at));
    this.chosen = this.report.features[this.view[this.active]];
    const [top, room] = [this.active * ROW, this.body.clientHeight - this.head.offsetHeight];
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    else if (top + ROW > this.body.scrollTop + room) this.body.scrollTop = top + ROW - room;
    this.render();
    this.select(this.view[this.active]);
  }

  // The same for a feature, wherever it is; false where the search hides it or it is not listed.
  reveal(feature) {
    const at = this.view.findIndex((i) => this.report.features[i] === feature);
    if (at >= 0) this.go(at);
    return at >= 0;
  }

  key(event) {
    if (event.target !== this.body) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW) - 2);
    const target = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.view.length - 1,
    }[event.key];
    if (event.key === "Enter") { this.go(this.active); byId("detail").focus(); }
    else if (target !== undefined) this.go(target);
    else return;
    event.preventDefault();
  }

  // Paper has no scroll bar: it gets the first rows, and the screen its place back.
  print(on) {
    if (on) this.place = this.body.scrollTop;
    this.printing = on;
    this.space.style.height = `${(on ? Math.min(PRINTED, this.view.length) : this.view.length) * ROW}px`;
    if (!on) this.body.scrollTop = this.place;
    this.render();
  }
}
