"use strict";
// As it came, to be kept: what is drawn below has styles that the policy of a file refuses.
const source = `<!doctype html>\n${document.documentElement.outerHTML}`;
// Elements are made with textContent only: nothing that a user wrote is ever read as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return filled(element, attributes, children);
}

function makeSvg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function numbers(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

const percent = (value) => value > 0 && value < 0.00005 ? "<\u00a00.01\u00a0%" : `${(100 * value).toFixed(value >= 0.0995 ? 1 : 2)}\u00a0%`;
const decimal = (value) => (Math.abs(value) >= 1000 || (value !== 0 && Math.abs(value) < 0.0005) ? value.toExponential(2) : value.toFixed(3));
const signed = (value) => (value < 0 ? "−" : "+") + decimal(Math.abs(value));

// Arrow keys, Home and End in a table whose cells are found by row and column.
function moved(event, row, column, rows, columns) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Home") return [row, 0];
  if (event.key === "End") return [row, columns - 1];
  const step = steps[event.key];
  if (!step) return null;
  const bounded = (value, size) => Math.min(size - 1, Math.max(0, value));
  return [bounded(row + step[0], rows), bounded(column + step[1], columns)];
}

function choice(id, label, options, chosen, change) {
  const select = make("select", { id, onchange: (event) => change(event.target.value) });
  for (const [value, text] of options) select.append(make("option", { value, selected: String(value) === String(chosen) }, text));
  return make("label", {}, `${label} `, select);
}
