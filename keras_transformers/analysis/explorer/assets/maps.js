// The grid of all heads, and the map of one: the area of a square is the share of attention.
const decodedMaps = new Map();

function mapOf(run = state.run) {
  return data.runs[run].maps.find((map) => map.kind === state.kind);
}

function arraysOf(map) {
  if (!decodedMaps.has(map)) {
    const names = ["weights", "query", "key", "bias", "mask", "norms", "small", "rollout"];
    decodedMaps.set(map, Object.fromEntries(names.map((name) => [name, map[name] && numbers(map[name])])));
  }
  return decodedMaps.get(map);
}

const headName = (layer, head) => (state.kind === "self" ? "" : `${state.kind}:`) + `${layer}.${head}`;

function drawHeadsControls() {
  const { maps } = data.runs[state.run];
  const buttons = maps.length < 2 ? [] : maps.map((map) => {
    const change = () => update({ kind: map.kind, layer: 0, head: 0, row: 0, column: 0 });
    return make("button", { type: "button", id: `kind-${map.kind}`, "aria-pressed": String(map.kind === state.kind), onclick: change }, map.title);
  });
  byId("heads-controls").replaceChildren(...buttons);
}

function drawHeadGrid() {
  const map = mapOf();
  const isWide = 68 * map.heads + 72 > byId("head-grid").clientWidth;
  const table = make("table", { role: "grid", class: isWide ? "wrapped" : "", "aria-label": "Heads: a row for each layer" });
  for (let layer = 0; layer < map.layers; layer++) {
    const row = make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, `layer ${layer}`));
    for (let head = 0; head < map.heads; head++) row.append(headCell(map, layer, head));
    table.append(row);
  }
  byId("head-grid").replaceChildren(table);
}

function headCell(map, layer, head) {
  const chosen = layer === state.layer && head === state.head;
  const name = headName(layer, head);
  const role = map.roles ? map.roles[layer][head].name : "";
  const off = state.off === name || data.runs[state.run].off.includes(name);
  const canvas = make("canvas", { width: 72, height: 72, "aria-hidden": "true" });
  thumbnail(canvas, map, layer, head);
  return make("td", {
    role: "gridcell", tabindex: chosen ? 0 : -1, class: off ? "off" : "", "aria-selected": String(chosen), title: role,
    "aria-label": `head ${name}${off ? ", off" : ""}${role && ": " + role}`, "data-head": name,
    onclick: () => update({ layer, head }, "#head-grid"),
    onkeydown: (event) => {
      const next = moved(event, layer, head, map.layers, map.heads);
      if (!next) return;
      event.preventDefault();
      update({ layer: next[0], head: next[1] }, "#head-grid");
    },
  }, canvas, make("span", { class: "name" }, off ? `${name} off` : name));
}

function thumbnail(canvas, map, layer, head) {
  const { small } = arraysOf(map);
  const [rows, columns] = map.groups.map((groups) => groups.length);
  const start = (layer * map.heads + head) * rows * columns;
  const context = canvas.getContext("2d");
  const [width, height] = [72 / columns, 72 / rows];
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const side = Math.sqrt(Math.max(0, small[start + row * columns + column]));
      const [w, h] = [side * width, side * height];
      context.fillRect((column + 0.5) * width - w / 2, (row + 0.5) * height - h / 2, w, h);
    }
  }
}

// What the chosen view shows: tokens, and a number for each pair; null where there is none.
function table() {
  const map = mapOf();
  const arrays = arraysOf(map);
  if (state.view === "whole") {
    const [rows, columns] = map.groups;
    const start = (state.layer * map.heads + state.head) * rows.length * columns.length;
    const value = (row, column) => arrays.small[start + row * columns.length + column];
    return { rows: groupNames(map.rows, rows), columns: groupNames(map.columns, columns), value, masked: () => false };
  }
  const [height, width] = map.size;
  const names = (side, first, size) => side.names.slice(first, first + size).map((name, index) => [name, side.special[first + index]]);
  const shown = { rows: names(map.rows, map.first[0], height), columns: names(map.columns, map.first[1], width) };
  if (state.view === "rollout") {
    return { ...shown, value: (row, column) => arrays.rollout[(state.layer * height + row) * width + column], masked: () => false };
  }
  if (state.view === "mean") return { ...shown, value: (row, column) => meanAt(map, row, column), masked: () => false };
  const masked = (row, column) => !arrays.mask[(state.layer * height + row) * width + column];
  const value = (row, column) => weightAt(map, row, column);
  return { ...shown, masked, value: state.view === "difference" ? changeAt : value };
}

function weightAt(map, row, column, head = state.head) {
  const [height, width] = map.size;
  return arraysOf(map).weights[((state.layer * map.heads + head) * height + row) * width + column];
}

function meanAt(map, row, column) {
  let sum = 0;
  for (let head = 0; head < map.heads; head++) sum += weightAt(map, row, column, head);
  return sum / map.heads;
}

function changeAt(row, column) {
  const [before, after] = [mapOf(0), mapOf(1)];
  const [rows, columns] = data.same[state.kind];
  const old = [rows[row + after.first[0]] - before.first[0], columns[column + after.first[1]] - before.first[1]];
  const known = old.every((place, axis) => place >= 0 && place < before.size[axis]);
  return known ? weightAt(after, row, column) - weightAt(before, ...old) : null;
}

function groupNames(side, groups) {
  return groups.map(([start, end]) => [end - start === 1 ? side.names[start] : `${side.names[start]} … ${side.names[end - 1]}`, false]);
}

function drawMap() {
  const shown = table();
  const [rows, columns] = [shown.rows.length, shown.columns.length];
  state.row = Math.min(state.row, rows - 1);
  state.column = Math.min(state.column, columns - 1);
  if (isList(shown)) return drawRow(shown);
  const cell = cellSize(shown);
  byId("map").style.setProperty("--cell", `${Math.max(LEAST, cell).toFixed(2)}px`);
  const head = make("tr", {}, make("td", { "aria-hidden": "true", class: "corner" }));
  for (const [name, special] of shown.columns) head.append(make("th", { scope: "col", class: special ? "token special" : "token" }, name));
  const body = make("tbody");
  for (let row = 0; row < rows; row++) {
    const [name, special] = shown.rows[row];
    const line = make("tr", {}, make("th", { scope: "row", class: special ? "special" : "" }, name));
    for (let column = 0; column < columns; column++) line.append(mapCell(shown, row, column));
    body.append(line);
  }
  byId("map").replaceChildren(make("table", { role: "grid", "aria-label": "A row for each token that attends" }, make("thead", {}, head), body));
  drawCell(shown);
}

function mapCell(shown, row, column) {
  const value = shown.value(row, column);
  const masked = shown.masked(row, column);
  const chosen = row === state.row && column === state.column;
  const square = make("span");
  square.style.width = square.style.height = `calc(var(--cell) * ${(0.917 * Math.sqrt(Math.min(1, Math.abs(value ?? 0)))).toFixed(4)})`;
  const text = masked ? "hidden by the mask" : value == null ? "new" : state.view === "difference" ? signed(value) : decimal(value);
  const choose = () => chooseCell(shown, row, column);
  return make("td", {
    role: "gridcell", tabindex: chosen ? 0 : -1, "aria-selected": String(chosen), "data-place": `${row},${column}`,
    class: masked ? "masked" : value < 0 ? "less" : "",
    "aria-label": `${shown.rows[row][0]} to ${shown.columns[column][0]}: ${text}`,
    onclick: choose,
    onkeydown: (event) => {
      const next = moved(event, row, column, shown.rows.length, shown.columns.length);
      if (!next) return;
      event.preventDefault();
      chooseCell(shown, ...next);
    },
  }, square);
}

function chooseCell(shown, row, column) {
  const cell = (place) => byId("map").querySelector(`[data-place="${place}"]`);
  const old = cell(`${state.row},${state.column}`);
  filled(old, { tabindex: -1, "aria-selected": "false" }, []);
  Object.assign(state, { row, column });
  const chosen = cell(`${row},${column}`);
  filled(chosen, { tabindex: 0, "aria-selected": "true" }, []);
  chosen.focus();
  drawCell(shown);
}
