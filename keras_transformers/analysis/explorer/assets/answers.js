// Bars of an answer; where a head is off, a second bar below the first one.
const units = { probability: percent, similarity: decimal, value: decimal };

// Two tokens may look alike: those of language models have a number.
const keyOf = (bar) => bar[3] ?? bar[0];

function valueOf(answer, place, bar) {
  const [, value, logit] = bar;
  const temperature = data.temperatures[state.temperature];
  if (!place.norms.length || temperature === 1) return value;
  return Math.exp(logit / temperature - place.norms[state.temperature]);
}

function drawAnswer() {
  const shown = state.compare ? data.runs : [data.runs[state.run]];
  const boxes = shown.map((run) => answerBox(run, shown.length > 1));
  byId("bars").replaceChildren(make("div", { class: "answers" }, ...boxes));
}

function answerBox(run, named) {
  const answer = run.answer;
  const place = answer.places[Math.min(state.place, answer.places.length - 1)];
  const without = state.off && run.switched[state.off];
  const other = without && without.places[Math.min(state.place, without.places.length - 1)];
  const box = make("div", {});
  if (named) box.append(make("h3", {}, run === data.runs[0] ? "Your text" : "The changed text"));
  if (answer.text) box.append(make("p", {}, "It wrote: ", make("b", {}, answer.text)));
  if (!place) return box;
  if (answer.unit === "value" && place.bars.length > 1) box.append(make("p", { class: "hint" }, place.name));
  const rows = barRows(answer, place, without, other);
  if (answer.unit === "similarity") return withBars(box, rows, 1, answer, place, other);
  const largest = Math.max(1e-9, ...rows.flatMap((row) => [Math.abs(row.whole ?? 0), Math.abs(row.off ?? 0)]));
  return withBars(box, rows, answer.unit === "probability" ? Math.max(0.05, largest) : largest, answer, place, other);
}

function withBars(box, rows, scale, answer, place, other) {
  for (const row of rows) box.append(barRow(row, scale, units[answer.unit], Boolean(other)));
  if (place.came != null) box.append(make("p", { class: "hint" }, `What stands there: ${place.came}`));
  return box;
}

function barRows(answer, place, without, other) {
  const rows = new Map();
  for (const bar of place.bars) rows.set(keyOf(bar), { label: bar[0], whole: valueOf(answer, place, bar), came: place.came });
  for (const bar of other ? other.bars : []) {
    const row = rows.get(keyOf(bar)) ?? { label: bar[0], came: place.came };
    rows.set(keyOf(bar), { ...row, off: valueOf(without, other, bar) });
  }
  return [...rows.values()];
}

function barRow(row, scale, show, hasOff) {
  const track = make("span", { class: "track" });
  const bar = (name, value) => {
    const span = make("span", { class: name });
    span.style.width = `${(100 * Math.abs(value)) / scale}%`;
    track.append(span);
  };
  if (row.whole != null) bar(row.whole < 0 ? "whole minus" : "whole", row.whole);
  if (row.off != null) bar("off", row.off);
  const whole = row.whole == null ? "less" : show(row.whole);
  const off = row.off == null ? "less" : show(row.off);
  const text = hasOff ? `${whole}, off: ${off}` : whole;
  const label = row.label === row.came ? `${row.label} ✓` : row.label;
  return make("div", { class: "bar" }, make("span", { class: "label" }, label), track, make("span", { class: "number" }, text));
}

function drawAnswerControls() {
  const box = byId("answer-controls");
  const { places } = data.runs[state.run].answer;
  box.replaceChildren();
  if (places.length > 1) {
    const options = places.map((place, index) => [index, place.name]);
    box.append(choice("place", "Place", options, state.place, (value) => update({ place: Number(value) })));
  }
  if (places.length && places[0].norms.length) {
    const last = data.temperatures.length - 1;
    const value = make("output", {}, String(data.temperatures[state.temperature]));
    const slide = (event) => {
      value.textContent = data.temperatures[event.target.value];
      state.temperature = Number(event.target.value);
      drawAnswer();
    };
    const range = make("input", { type: "range", id: "temperature", min: 0, max: last, value: state.temperature, oninput: slide });
    box.append(make("label", {}, "Temperature ", range, " ", value));
  }
}
