// Elements, numbers and the tooltip. Text reaches the document through text nodes only.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

const nameText = (name) => (name === "" ? "(empty name)" : name);
// A name may hold anything, right-to-left overrides too: bdi keeps them inside.
const nameNode = (name) => h("bdi", { class: "name", title: name }, nameText(name));

const KINDS = { f4: Float32Array, f8: Float64Array, i4: Int32Array };

function decode(packed) {
  const [[kind, text]] = Object.entries(packed);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new KINDS[kind](bytes.buffer);
}

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const monthDay = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const minus = (text) => text.replace(/-/g, "\u2212");

function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "\u2013";
  if (!Number.isFinite(x)) return x > 0 ? "\u221e" : "\u2212\u221e";
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return minus(whole.format(x));
  const size = Math.abs(x);
  if (size >= 1e3 && size < 1e7) return minus(whole.format(Math.round(x)));
  if (size < 1e-3 || size >= 1e7) return minus(x.toExponential(Math.max(0, digits - 2)));
  return minus(String(Number(x.toPrecision(digits))));
}

function pvalue(log10p) {
  if (Number.isNaN(log10p)) return "\u2013";
  if (log10p === -Infinity) return "< 1e\u2212300";
  if (log10p > -3) return (10 ** log10p).toPrecision(2);
  let exponent = Math.floor(log10p);
  let digits = (10 ** (log10p - exponent)).toFixed(1);
  if (digits === "10.0") [digits, exponent] = ["1.0", exponent + 1];
  return minus(`${digits}e${exponent}`);
}

// Fixed decimals without a negative zero.
const fixed = (x, decimals) => minus((Number(x.toFixed(decimals)) || 0).toFixed(decimals));
const percent = (x, digits = 1) => `${(100 * x).toFixed(digits)}\u2009%`;

function date(seconds) {
  const value = new Date(1000 * seconds);
  return Number.isNaN(value.getTime()) ? number(seconds) : value.toISOString().slice(0, 16).replace("T", " ");
}

const tip = byId("tip");

function showTip(event, lines) {
  tip.replaceChildren(...lines.map((line) => (line instanceof Node ? line : h("div", {}, line))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 14 + box.width > innerWidth;
  tip.style.left = `${Math.max(4, right ? event.clientX - 14 - box.width : event.clientX + 14)}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4))}px`;
}

const hideTip = () => { tip.hidden = true; };

// A row of buttons of which one is pressed.
function segmented(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => {
      buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(options[i][0] === value)));
      choose(value);
    } }, text));
  return h("div", { class: "segmented", role: "group", "aria-label": label }, buttons);
}

const figureHead = (title, note, ...controls) =>
  h("div", { class: "figure-head" }, h("div", {}, h("h3", {}, title), note && h("p", {}, note)), controls);
