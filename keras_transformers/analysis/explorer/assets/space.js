// Search results and the space that they are found in: cosines as a matrix, and the two directions of most variance.
function drawSpace() {
  const { space } = data;
  byId("space").hidden = !space;
  if (!space) return;
  byId("results").replaceChildren(...space.found.map(({ index, score }, rank) => make("li", {},
    make("span", { class: "label" }, `${index + 1}. ${space.texts[index]}`), meter(score < 0 ? "off" : "whole", Math.abs(score)),
    make("span", { class: "number", "data-rank": rank }, decimal(score)))));
  byId("query").replaceChildren("Nearest to ", make("bdi", {}, make("b", {}, space.query)), ", by the cosine of the vectors:");
  byId("points").replaceChildren(pointsPicture(space));
  const [one, two] = space.explained;
  byId("points-words").textContent = `Each number is a text of the list, Q the query. The vectors have ${space.width.toLocaleString("en")} numbers each; of their variance the drawing shows ${percent(one)} from left to right and ${percent(two)} from bottom to top (PCA). Texts that are near in it may be far apart; the matrix has the cosines of all.`;
  byId("cosines").replaceChildren(cosineTable(space));
}

function pointsPicture(space) {
  const size = Math.max(240, Math.min(520, byId("points").clientWidth));
  const svg = makeSvg("svg", { class: "points", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${space.points.length} vectors in two dimensions` });
  const reach = Math.max(1e-9, ...space.points.flat().map(Math.abs));
  const at = (value) => size / 2 + (value / reach) * (size / 2 - 24);
  svg.append(makeSvg("line", { x1: 0, x2: size, y1: size / 2, y2: size / 2 }), makeSvg("line", { x1: size / 2, x2: size / 2, y1: 0, y2: size }));
  space.points.forEach(([x, y], index) => {
    const isQuery = index === space.points.length - 1;
    const near = space.found.slice(0, 3).some((each) => each.index === index);
    const group = makeSvg("g", { class: isQuery ? "query" : near ? "near" : "" });
    group.append(makeSvg("title", {}, isQuery ? space.query : space.texts[index]));
    group.append(makeSvg("circle", { cx: at(x), cy: size - at(y), r: isQuery ? 11 : 9 }));
    group.append(makeSvg("text", { x: at(x), y: size - at(y) + 4, "text-anchor": "middle" }, isQuery ? "Q" : String(index + 1)));
    svg.append(group);
  });
  return svg;
}

function cosineTable(space) {
  const names = [...space.texts.map((_, index) => String(index + 1)), "Q"];
  const texts = [...space.texts, space.query];
  const cell = (row, column) => table.querySelector(`[data-pair="${row},${column}"]`);
  const say = (row, column) => {
    const old = table.querySelector('[tabindex="0"]');
    if (old) filled(old, { tabindex: -1, "aria-selected": "false" }, []);
    filled(cell(row, column), { tabindex: 0, "aria-selected": "true" }, []);
    byId("cosine").replaceChildren(make("b", {}, `${names[row]} and ${names[column]}: ${decimal(space.cosines[row][column])}`), make("br"), make("bdi", {}, texts[row]), make("br"), make("bdi", {}, texts[column]));
  };
  const table = make("table", { role: "grid", "aria-label": "Cosine of each text with each" }, make("tr", {}, make("td"), ...names.map((name) => make("th", { scope: "col" }, name))));
  names.forEach((name, row) => {
    const line = make("tr", {}, make("th", { scope: "row" }, name));
    names.forEach((other, column) => {
      const value = space.cosines[row][column];
      const square = make("span", { class: value < 0 ? "off" : "whole" });
      square.style.width = square.style.height = `${(100 * Math.sqrt(Math.min(1, Math.abs(value)))).toFixed(1)}%`;
      const label = `${name} and ${other}: ${decimal(value)}`;
      line.append(make("td", {
        role: "gridcell", tabindex: -1, "data-pair": `${row},${column}`, title: label, "aria-label": label,
        onclick: () => say(row, column),
        onkeydown: (event) => {
          const next = moved(event, row, column, names.length, names.length);
          if (!next) return;
          event.preventDefault();
          say(...next);
          cell(...next).focus();
        },
      }, make("span", { class: "square" }, square)));
    });
    table.append(line);
  });
  say(space.found[0].index, names.length - 1);
  return table;
}
