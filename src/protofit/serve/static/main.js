// The page: what was typed, asked and answered, and who shows it.

import { debounced, get, post } from "./api.js";
import { Cards } from "./cards.js";
import { Colours } from "./colours.js";
import { byId, characters, cut, fill, h, number, oneLine, percent, thousands } from "./dom.js";
import { Edits } from "./edits.js";
import { answer } from "./evidence.js";
import { Map2D } from "./map.js";
import { Several } from "./several.js";
import { answered, showEmpty, showTooMuch } from "./states.js";

const EXAMPLES = 3;
const SHORT = 64; // characters of an example that fits its button

const context = {
  facts: null, limits: null, atlas: null, cards: [], colours: null, edits: null,
  choose: (row, scroll = true) => { cards.choose(row, scroll); map.choose(row); },
  shown: (label) => (context.facts.task === "regression" ? number(label) : String(label)),
  question: () => question(),
};
const cards = new Cards(context);
const map = new Map2D(context);
const several = new Several(context, openOne);
const ask = debounced(explain);

/** What is typed, or null while something is missing. */
function question() {
  const text = byId("text").value;
  const pair = byId("pair").value;
  if (!text.trim() || (context.facts.paired && !pair.trim())) return null;
  return context.facts.paired ? { text, pair } : { text };
}

async function explain(signal) {
  if (!context.facts) return; // `begin` asks again
  const asked = question();
  const target = byId("answer");
  const most = context.limits.text_chars;
  if (!asked) {
    map.place(null);
    showEmpty(target, `Type or paste ${context.facts.paired ? "two texts" : "a text"}: label, evidence and place on the map appear as you type.`);
    return;
  }
  if (Math.max(characters(asked.text), characters(asked.pair)) > most) {
    map.place(null);
    showTooMuch(target, `At most ${thousands(most)} characters are taken; cut the text, or use the API for its parts.`);
    return;
  }
  const failed = await answered(target, async () => show(await post("explain", asked, signal)), () => ask(true));
  if (failed) map.place(null);
}

function show(found) {
  fill(byId("answer"), answer(found, context));
  map.place(found);
  const said = found.task === "regression" ? number(found.prediction) : `${found.prediction}, ${percent(found.probability, 0)}`;
  byId("announce").textContent = `Prediction: ${said}`;
}

function count() {
  const size = characters(byId("text").value) + characters(byId("pair").value);
  byId("count").textContent = size ? `${thousands(size)} ${size === 1 ? "character" : "characters"}` : "";
  byId("clear").hidden = size === 0;
  byId("examples").hidden = size > 0;
}

function typed() {
  count();
  ask();
}

function openOne(item) {
  selectTab("one");
  byId("text").value = item.text;
  byId("pair").value = item.pair ?? "";
  count();
  ask(true);
  byId("text").focus();
  byId("text").scrollIntoView({ block: "nearest" });
}

function selectTab(name) {
  for (const each of ["one", "several"]) {
    const chosen = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
    byId(each).hidden = !chosen;
  }
  byId("answer").hidden = name !== "one";
  byId("table").hidden = name !== "several";
  map.place(null);
  (name === "several" ? several.ask : ask)(true);
}

function listen() {
  for (const id of ["text", "pair"]) byId(id).addEventListener("input", typed);
  byId("clear").addEventListener("click", () => { byId("text").value = byId("pair").value = ""; typed(); byId("text").focus(); });
  for (const name of ["one", "several"]) {
    byId(`tab-${name}`).addEventListener("click", () => selectTab(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = name === "one" ? "several" : "one";
      selectTab(other);
      byId(`tab-${other}`).focus();
    });
  }
}

/** A few short training texts of different classes to begin with, where the model keeps them. */
function examples() {
  const seen = new Set();
  const size = (point) => characters(oneLine(point.text));
  const kept = context.atlas.points.filter((point) => point.text !== null);
  const short = kept.filter((point) => size(point) <= SHORT);
  const chosen = (short.length ? short : kept).filter((point) => !seen.has(String(point.label)) && seen.add(String(point.label)))
    .slice(0, EXAMPLES);
  fill(byId("examples"), chosen.length ? h("span.soft", {}, "For example") : null, chosen.map((point) => {
    const [text, pair] = Array.isArray(point.text) ? point.text : [point.text];
    return h("button.example", { onclick: () => openOne({ text, pair }) }, cut(oneLine(point.text), SHORT));
  }));
}

function introduce() {
  const { facts } = context;
  document.title = `${facts.model} · ProtoFit`;
  byId("model").textContent = facts.model;
  const told = [
    facts.task === "regression" ? "predicts a number" : `${facts.classes.length} classes`,
    facts.prototypes ? `${facts.prototypes} prototypes` : "no prototypes",
    `${thousands(facts.examples)} training texts`, `method ${facts.method}`,
  ];
  fill(byId("facts"), told.map((fact) => h("span", {}, fact)));
  byId("pair-field").hidden = !facts.paired;
  byId("text-label").textContent = facts.paired ? "First text" : "Text";
  byId("texts-label").textContent = facts.paired ? "One pair per line, a tab or “ | ” between the two" : "One text per line";
}

/** Everything about the model, at the beginning and after an edit. */
async function load(told) {
  const [health, atlas, shelf] = await Promise.all([get("health"), get("map"), get("prototypes")]);
  Object.assign(context, { facts: health.facts, limits: health.limits, atlas, cards: shelf.prototypes });
  const values = health.facts.task === "regression" ? [...atlas.points, ...shelf.prototypes].map((each) => Number(each.label)) : [0];
  byId("about").textContent = `ProtoFit ${health.protofit}`;
  context.colours = new Colours(health.facts, values);
  context.edits = health.edits ? context.edits ?? new Edits(context, reload) : null;
  introduce();
  map.draw(atlas.points, context.cards);
  cards.load(context.cards);
  if (!context.edits) return;
  context.edits.tools();
  await context.edits.history(told);
}

async function reload(told) {
  if (await answered(byId("answer"), () => load(told), () => reload(told))) return;
  byId("announce").textContent = told;
  several.ask(true);
  ask(true);
}

async function begin() {
  byId("model").textContent = "Loading the model …";
  if (await answered(byId("answer"), () => load(), begin)) {
    byId("model").textContent = "No model";
    return;
  }
  examples();
  count(); // what was typed while the model loaded
  several.count();
  several.ask(true);
  ask(true);
}

listen();
begin();
