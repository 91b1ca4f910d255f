// The path of a signal from the first token to the last, in three kinds of layers.
function named(path) {
  if (path.kind === "recurrent") return "A recurrent layer";
  const name = path.kind === "attention" ? "attention" : `convolutions of width ${path.kernel}`;
  return path.causal ? `Causal ${name}` : `Bidirectional ${name}`;
}

function drawPaths() {
  const figures = data.paths.map((path) => {
    const layers = path.layers === 1 ? "1 layer" : `${path.layers} layers`;
    const steps = path.steps === 1 ? "1 step" : `${path.steps} steps`;
    const title = make("h3", {}, `${named(path)}: ${steps}, ${layers}`);
    return make("figure", { "data-kind": path.kind }, title, make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": named(path) }, picture(path)), make("p", { class: "hint" }, path.own ? "This is the kind of the model above." : ""));
  });
  byId("pictures").replaceChildren(...figures);
  byId("paths").hidden = !figures.length;
}

function picture(path) {
  const room = Math.max(280, byId("pictures").clientWidth);
  const [gap, rise, top] = [Math.min(44, (room - 72) / (path.length - 1)), path.layers > 3 ? 34 : 64, 24];
  const height = top + path.layers * rise + 76;
  const x = (position) => 24 + position * gap;
  const y = (layer) => top + (path.layers - layer) * rise;
  const svg = makeSvg("svg", { class: "picture", role: "img", viewBox: `0 0 ${(path.length - 1) * gap + 72} ${height}`, width: (path.length - 1) * gap + 72,
    "aria-label": `${named(path)}: the signal takes ${path.steps} steps from ${path.tokens[0]} to ${path.tokens.at(-1)}` });
  const line = (from, to, name) => makeSvg("line", { class: name, x1: x(from[1]), y1: y(from[0]), x2: x(to[1]), y2: y(to[0]) });
  for (const [from, to] of path.edges) svg.append(line(from, to, "edge"));
  for (let step = 0; step < path.steps; step++) svg.append(line(path.places[step], path.places[step + 1], "way"));
  const onPath = new Set(path.places.map(String));
  for (let layer = 0; layer <= path.layers; layer++) {
    for (let position = 0; position < path.length; position++) {
      const here = onPath.has(String([layer, position]));
      svg.append(makeSvg("circle", { class: here ? "way" : "", cx: x(position), cy: y(layer), r: here ? 9 : 5 }));
    }
  }
  path.places.forEach((place, step) => {
    if (step) svg.append(makeSvg("text", { x: x(place[1]), y: y(place[0]) + 4, "text-anchor": "middle" }, String(step)));
  });
  path.tokens.forEach((token, position) => {
    const at = `${x(position)} ${y(0) + 16}`;
    const name = token.length > 10 ? `${token.slice(0, 9)}…` : token;
    svg.append(makeSvg("text", { transform: `translate(${at}) rotate(50)` }, name));
  });
  return svg;
}
