const last = data.runs.length - 1;
const state = {
  run: last, compare: last > 0, kind: data.runs[last].maps[0]?.kind, layer: 0, head: 0, row: 0, column: 0,
  view: "window", list: null, off: null, place: Math.max(0, data.runs[last].answer.places.length - 1),
  temperature: data.temperatures.indexOf(1),
};

// Begin where something is asked: at the token of the place, and what it attends to most.
function begin() {
  const map = mapOf();
  if (!map) return;
  const { token } = data.runs[state.run].answer.places[state.place] ?? {};
  state.row = Math.min(map.size[0] - 1, Math.max(0, (token ?? 0) - map.first[0]));
  const weights = Array.from({ length: map.size[1] }, (_, column) => weightAt(map, state.row, column));
  state.column = weights.indexOf(Math.max(...weights));
}

function update(changes, focusIn) {
  Object.assign(state, changes);
  if (state.view === "rollout" && state.kind === "cross") state.view = "window";
  if (state.view === "difference") state.run = last; // its rows and columns are those of the changed text
  const { id } = document.activeElement; // what has the focus is drawn anew
  draw();
  const target = focusIn ? document.querySelector(`${focusIn} [tabindex="0"]`) : id && byId(id);
  if (target) target.focus();
}

function draw() {
  drawAnswerControls();
  drawAnswer();
  drawLens();
  if (!mapOf()) return;
  drawHeadsControls();
  drawHeadGrid();
  drawHead();
}

function drawHead() {
  const map = mapOf();
  const name = headName(state.layer, state.head);
  byId("head-title").textContent = `One head: ${name}, ${map.title}`;
  byId("role").textContent = map.roles ? roleText(name, map) : `Head ${name}.`;
  drawHeadControls(map, name);
  const cut = map.size[0] < map.rows.names.length || map.size[1] < map.columns.names.length;
  const legends = {
    window: "The area of a square is the weight. Rows attend, columns are attended to." + (arraysOf(map).mask.every(Boolean) ? "" : " Striped: hidden by the mask."),
    whole: "Neighbouring tokens are one: the area is the share of attention of these tokens to those.",
    mean: "The mean over all heads of this layer: the area of a square is the weight.",
    rollout: "An estimate of how much of each input token is in each place behind this layer, from attention alone (rollout, Abnar and Zuidema 2020).",
    difference: "The changed text against your text: a filled square is more attention, a hollow one less.",
  };
  byId("legend").textContent = legends[state.view] + (cut && state.view !== "whole" ? ` Tokens ${map.first[0]} to ${map.first[0] + map.size[0] - 1} of ${map.rows.names.length} are shown.` : "");
  drawMap();
}

function roleText(name, map) {
  const role = map.roles[state.layer][state.head];
  const share = (text, value) => `${text} ${percent(value)}`;
  const shares = [share("token before", role.previous), share("itself", role.own)];
  if (!map.causal) shares.push(share("token behind", role.following));
  shares.push(share("first token", role.first));
  if (map.rows.special.some(Boolean)) shares.push(share("special tokens", role.special));
  return `Head ${name} on this text: ${role.name}. Share of its attention: ` + shares.join(", ") + `; mean distance ${role.distance.toFixed(1)} tokens, entropy ${role.entropy.toFixed(1)} bits.`;
}

function drawHeadControls(map, name) {
  const known = data.runs[state.run].switched[name];
  const off = state.off === name;
  const switching = make("button", { type: "button", id: "switch", "aria-pressed": String(off), disabled: !known, onclick: toggle }, off ? `Switch head ${name} on` : `Switch head ${name} off`);
  const views = [["window", "each token"], ["mean", map.kind === "cross" ? "alignment: the mean of the heads" : "the mean of the heads"]];
  if (map.rollout) views.push(["rollout", "rollout"]);
  if (map.groups[0].length < map.rows.names.length || map.groups[1].length < map.columns.names.length) views.push(["whole", "the whole text"]);
  if (last) views.push(["difference", "difference"]);
  const controls = [switching, make("button", { type: "button", id: "list", "aria-pressed": String(isList()), onclick: () => update({ list: !isList() }) }, "As a list")];
  if (views.length > 1) controls.push(choice("view", "Show", views, state.view, (view) => update({ view })));
  if (last) controls.push(choice("run", "of", [[0, "your text"], [1, "the changed text"]], state.run, (run) => update({ run: Number(run), view: "window" })));
  byId("head-controls").replaceChildren(...controls);
}

function toggle() {
  if (!mapOf()) return;
  const name = headName(state.layer, state.head);
  const run = data.runs[state.run];
  if (!run.switched[name]) return;
  const inGrid = byId("head-grid").contains(document.activeElement);
  update({ off: state.off === name ? null : name }, inGrid ? "#head-grid" : null);
  byId("status").textContent = state.off ? offText(run, name) : "All heads are on.";
}

function offText(run, name) {
  const [place, other] = [run.answer, run.switched[name]].map((answer) => answer.places[Math.min(state.place, answer.places.length - 1)]);
  const show = units[run.answer.unit];
  const bar = place.bars[0];
  const after = other.bars.find((each) => keyOf(each) === keyOf(bar));
  const [before, now] = [show(valueOf(run.answer, place, bar)), after ? show(valueOf(run.switched[name], other, after)) : "not among the best"];
  const first = other.bars[0];
  return `Head ${name} is off: ${bar[0]} from ${before} to ${now}.` + (keyOf(first) === keyOf(bar) ? "" : ` The best is ${first[0]} now.`);
}

document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key.toLowerCase() === "o" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) toggle();
});

function startOfAnswer(unit, { name, bars }) {
  if (bars.length === 1) return "“What it answers”: the bar is what the model gives.";
  return unit === "value" ? `“What it answers”: ${name}, that the model gives.` : "“What it answers”: the longest bar is the likeliest answer.";
}

function drawStart() {
  const run = data.runs[last];
  const { unit, places } = run.answer;
  const steps = data.space ? ["“Search”: which texts are nearest to yours, and how near all of them are to each other."] : [];
  if (places.length) steps.push(startOfAnswer(unit, places[state.place]));
  if (places.length > 1) steps.push("It answers at several places: choose one by “Place”.");
  if (run.lens) steps.push("“What each layer adds”: see the answer come about, from layer to layer.");
  if (run.maps.length) steps.push("“All heads”: choose one. “One head” shows then which token looks at which, and “Behind one cell” the numbers of one such look.");
  if (Object.keys(run.switched).length) steps.push("Switch the head off: a second, striped bar shows what the model answers without it.");
  if (last) steps.push("Two texts are compared: “difference” shows where a head changes.");
  byId("start").querySelector("ol").replaceChildren(...steps.map((text) => make("li", {}, text)));
  byId("about").querySelector("ul").replaceChildren(...run.about.map((text) => make("li", {}, text)));
  for (const id of ["heads", "head", "cell", "keys"]) byId(id).hidden = !run.maps.length;
  document.querySelector("main").classList.toggle("single", !run.maps.length);
}

// In elements of their own: a text may turn the direction of writing.
byId("text").append(make("bdi", {}, data.runs[0].text));
if (last) byId("text").append(make("br"), "changed: ", make("bdi", {}, data.runs[1].text));
const offHeads = data.runs.flatMap((run) => run.off);
byId("notes").textContent = [...new Set(data.runs.flatMap((run) => run.notes)), ...(offHeads.length ? [`Off from the start: ${[...new Set(offHeads)].join(", ")}.`] : [])].join(" ");
drawStart();
begin();
draw();
drawPaths();
drawSpace();
let width = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return; // the height of a frame follows what is in it
  width = document.documentElement.clientWidth;
  if (mapOf()) draw();
  drawPaths();
  drawSpace();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => mapOf() && drawHeadGrid());
if (window.frameElement) {
  const save = () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([source], { type: "text/html" })), download: "inside.html" });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  document.querySelector("header").append(make("button", { type: "button", id: "save", onclick: save }, "Keep this as one HTML file"));
  const fit = () => { window.frameElement.style.height = `${document.documentElement.offsetHeight + 4}px`; };
  new ResizeObserver(fit).observe(document.documentElement);
  fit();
}
