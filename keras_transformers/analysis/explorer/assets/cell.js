// The numbers behind one cell: query and key, their products, the score, and the softmax.
function drawCell(shown) {
  const [from, to] = [shown.rows[state.row][0], shown.columns[state.column][0]];
  const value = shown.value(state.row, state.column);
  const box = byId("numbers");
  const title = make("p", {}, make("b", {}, from), " attends to ", make("b", {}, to), `, head ${headName(state.layer, state.head)}`);
  if (state.view === "window") return box.replaceChildren(title, ...behind());
  const words = {
    whole: "share of the attention of these tokens, the mean over them",
    mean: `mean weight over the heads of layer ${state.layer}`,
    rollout: `share that reaches layer ${state.layer} through all layers below`,
    difference: "change of the weight from your text to the changed one",
  };
  const number = value == null ? "not in both texts" : state.view === "difference" ? signed(value) : decimal(value);
  box.replaceChildren(title, make("p", {}, `${number}: ${words[state.view]}.`));
}

function behind() {
  const map = mapOf();
  const arrays = arraysOf(map);
  const [height, width] = map.size;
  const head = state.layer * map.heads + state.head;
  const part = (array, size, place) => array.subarray((head * size + place) * map.width, (head * size + place + 1) * map.width);
  const [query, key] = [part(arrays.query, height, state.row), part(arrays.key, width, state.column)];
  const products = Array.from(query, (number, index) => number * key[index]);
  const dot = products.reduce((sum, product) => sum + product, 0);
  const bias = arrays.bias ? arrays.bias[(head * height + state.row) * width + state.column] : null;
  const scaled = dot * map.scale;
  const capped = map.cap == null ? scaled : map.cap * Math.tanh(scaled / map.cap);
  const score = capped + (bias ?? 0);
  const norm = arrays.norms[head * height + state.row];
  const weight = weightAt(map, state.row, state.column);
  const hidden = !arrays.mask[(state.layer * height + state.row) * width + state.column];

  const lines = [["q · k", `${decimal(dot)}, the sum of ${map.width} products`], ["× scale", `${decimal(map.scale)} = ${decimal(scaled)}`]];
  if (map.cap != null) lines.push(["soft cap", `${decimal(capped)} = ${decimal(map.cap)} × tanh(${decimal(scaled)} ÷ ${decimal(map.cap)})`]);
  if (bias != null) lines.push(["+ position", decimal(bias)]);
  lines.push(["score", hidden ? "−∞: the mask hides this token" : decimal(score)]);
  lines.push(["softmax", hidden ? "e^−∞ = 0" : `e^${decimal(score)} ÷ ${decimal(Math.exp(norm))}, the sum over the row`]);
  lines.push(["weight", `${decimal(weight)} = ${percent(weight)}`]);
  const list = make("dl", {});
  for (const [name, text] of lines) list.append(make("dt", {}, name), make("dd", {}, text));
  return [list, productBars(products), make("p", { class: "hint" }, "The products of query and key, one for each number of the head: filled above the line is more, hollow below is less.")];
}

function productBars(products) {
  const [width, height] = [480, 90];
  const largest = Math.max(1e-9, ...products.map(Math.abs));
  const step = width / products.length;
  const picture = makeSvg("svg", { class: "products", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${products.length} products, the largest ${decimal(largest)}` });
  products.forEach((product, index) => {
    const size = (Math.abs(product) / largest) * (height / 2 - 2);
    const y = product < 0 ? height / 2 : height / 2 - size;
    picture.append(makeSvg("rect", { class: product < 0 ? "less" : "more", x: index * step + 0.5, y, width: Math.max(1, step - 1), height: size }));
  });
  picture.append(makeSvg("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2 }));
  return picture;
}
