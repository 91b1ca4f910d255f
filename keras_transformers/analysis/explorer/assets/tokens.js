// One row of a map as a list, which fits where the map does not: what one token attends to.
const isNarrow = () => document.documentElement.clientWidth < 640;
const LEAST = 20; // pixels of a cell

// Unless the user chose: a list where there is little room, and the map has none.
const isList = (shown = table()) => state.list ?? (isNarrow() && cellSize(shown) < LEAST);

function drawRow(shown) {
  const options = shown.rows.map(([name], row) => [row, `${row + 1}. ${name}`]);
  const from = choice("from", "From the token", options, state.row, (row) => update({ row: Number(row) }));
  const list = make("div", { role: "group", "aria-label": `What ${shown.rows[state.row][0]} attends to` });
  shown.columns.forEach(([name], column) => {
    const value = shown.value(state.row, column);
    const hidden = shown.masked(state.row, column);
    const text = hidden ? "masked" : value == null ? "new" : state.view === "difference" ? signed(value) : decimal(value);
    const choose = () => update({ column }, null);
    list.append(make("button", { type: "button", class: "row", id: `to-${column}`, "aria-pressed": String(column === state.column), onclick: choose },
      make("span", { class: "label" }, name), meter(value < 0 ? "off" : "whole", Math.abs(value ?? 0)), make("span", { class: "number" }, text)));
  });
  byId("map").replaceChildren(make("div", { class: "controls" }, from), list);
  drawCell(shown);
}

// Cells as large as the width allows beside the names of the rows, 24 pixels at most.
function cellSize(shown) {
  const context = make("canvas").getContext("2d");
  const widest = Math.max(...shown.rows.map(([name, special]) => {
    context.font = `${special ? "italic " : ""}13px system-ui, sans-serif`; // that of `th`, 9rem wide at most
    return context.measureText(name).width;
  }));
  return Math.min(24, (byId("map").clientWidth - Math.min(144, widest + 10) - 2) / shown.columns.length);
}
