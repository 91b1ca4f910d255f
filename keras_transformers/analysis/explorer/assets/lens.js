// The logit lens: the answer as the model's own head reads it behind each sub-layer, and what each one adds.
function drawLens() {
  const { lens } = data.runs[state.run];
  byId("lens").hidden = !lens;
  if (!lens) return;
  const places = lens.places.filter((place) => place.place === state.place);
  byId("lens-words").replaceChildren(...lensWords(lens).map((text) => make("p", { class: "hint" }, text)));
  byId("lens-rows").replaceChildren(...places.map((place) => lensTable(lens, place)));
}

function lensWords(lens) {
  const hasProbabilities = lens.places.some((place) => place.probability[0] != null);
  const given = hasProbabilities ? "The first bar is the probability" : "“logit” is the number";
  const words = [`Read from above: the embeddings go in, and each line adds its part to the stream that all layers share. ${given} that the model's own head gives to the answer there, as if the model ended${lens.places.some((place) => place.classes > 1) ? "; ranks count from 1" : ""}.`];
  if (lens.sum) {
    words.push("“adds” is the part's share of the answer's logit: the last norm divides all of them by one number, so that they add up to the logit exactly.");
  } else if (lens.order === "post") {
    words.push("A norm follows each addition in this model and rescales what was there before, so that the logit is no sum of parts: “change” is what the lens reads more, or less, than in the line above.");
  } else {
    words.push("The head of this model is not linear, so that the logit is no sum of parts: “change” is what the lens reads more, or less, than in the line above.");
  }
  words.push("“size” is the length of the vector that is added, beside the stream that it is added to and that carries on (the residual connection).");
  return words;
}

function lensTable(lens, place) {
  const change = (row) => (lens.sum ? place.added[row] : row ? place.logit[row] - place.logit[row - 1] : null);
  const changes = lens.steps.map((_, row) => change(row));
  const most = Math.max(1e-9, ...changes.map((value) => Math.abs(value ?? 0)));
  const heads = ["", place.probability[0] == null ? "logit" : "probability", "rank", "best here", lens.sum ? "adds" : "change", "size"];
  const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)));
  const body = make("tbody");
  let before = -1;
  lens.steps.forEach(([layer, part], row) => {
    const line = lensLine(lens, place, row, changes[row] == null ? null : changes[row] / most, changes[row]);
    if (layer !== before) line.className = "first";
    line.prepend(make("th", { scope: "row" }, layer == null ? part : `${layer} ${part}`));
    body.append(line);
    before = layer;
  });
  const table = make("table", { class: "lens" }, make("caption", {}, lensTitle(place)), make("thead", {}, head), body);
  if (!lens.sum) return table;
  const sum = lens.steps.reduce((total, _, row) => total + place.added[row], place.rest);
  return make("div", {}, table, make("p", { class: "hint", "data-sum": sum }, `${place.rest ? `Biases of the last norm and the head add ${signed(place.rest)}: together` : "Together"} ${signed(sum)}, the logit of ${place.answer}.`));
}

function lensTitle(place) {
  return make("span", {}, `${place.name}: `, make("b", {}, place.answer), place.classes > 1 ? `, among ${place.classes.toLocaleString("en")}` : "");
}

function lensLine(lens, place, row, share, change) {
  const chance = place.probability[row];
  const best = place.best[row] === place.answer ? "✓" : place.best[row];
  const cell = (name, ...children) => make("td", { class: name }, ...children);
  return make("tr", {},
    cell("chance", chance == null ? "" : meter("whole", chance), chance == null ? decimal(place.logit[row]) : percent(chance)),
    cell("number", tag("rank"), place.classes > 1 ? place.rank[row].toLocaleString("en") : "–"),
    cell("best", tag("best here"), best, place.best_probability[row] == null || best === "✓" ? "" : make("small", {}, ` ${percent(place.best_probability[row])}`)),
    cell("number", tag(lens.sum ? "adds" : "change"), change == null ? "–" : meter(change < 0 ? "off" : "whole", Math.abs(share)), change == null ? "" : signed(change)),
    cell("number", tag("size"), place.share[row] == null ? "–" : `× ${place.share[row].toFixed(2)}`));
}

// The name of a column, where the lines are too narrow for a head above them.
const tag = (name) => make("span", { class: "tag" }, `${name} `);

function meter(name, share) {
  const bar = make("span", { class: name });
  bar.style.width = `${(100 * Math.min(1, share)).toFixed(2)}%`;
  return make("span", { class: "track", "aria-hidden": "true" }, bar);
}
