// The answer to one text: verdict, novelty, evidence, counter-evidence, nearest texts.

import { cut, h, number, oneLine, percent } from "./dom.js";

const NOVEL = 0.95; // share of training texts that are nearer to a prototype
const SHOWN = 5; // classes and prototypes before "show all"
const SMALL = 0.0005; // share of the whole that is not listed at once

/** Everything the page says about one text. */
export function answer(found, context) {
  const regression = found.task === "regression";
  return [
    h("section.panel.verdict", { "aria-labelledby": "verdict-title" },
      h("h2.hidden", { id: "verdict-title" }, "Prediction"),
      h("p.label", {}, swatch(found.prediction, context), regression ? number(found.prediction) : String(found.prediction)),
      regression ? null : h("p.chance", {}, percent(found.probability)),
      notices(found, context),
      regression ? null : classes(found, context),
      novelty(found)),
    evidence(found, context),
    counter(found, context),
    texts(found.nearest, "Nearest training texts", context),
  ];
}

export function swatch(label, context) {
  return h("span.swatch", { "aria-hidden": "true", css: { "--colour": context.colours.of(label) } });
}

function notices(found, context) {
  const novel = found.novelty !== null && found.novelty >= NOVEL;
  return [
    novel && h("p.notice.warn", {}, h("strong", {}, "Unlike the training texts. "),
      "The model has seen little like this: take the answer with care."),
    found.truncated && h("p.notice", {}, h("strong", {}, "Very long text. "),
      `Only its first ${context.facts.token_limit} tokens were read.`),
  ];
}

function classes(found, context) {
  const rows = found.classes
    .map((label, i) => ({ label, chance: found.probabilities[i] }))
    .sort((a, b) => b.chance - a.chance);
  const row = ({ label, chance }) =>
    h("li", {}, h("span.name", {}, String(label)),
      bar({ left: "0", width: `${100 * chance}%` }, context.colours.of(label)),
      h("span.figure", {}, percent(chance)));
  const list = h("ul.classes", { "aria-label": "Probability of each class" }, rows.slice(0, SHOWN).map(row));
  if (rows.length <= SHOWN) return list;
  const more = h("button.quiet", { onclick: () => { list.append(...rows.slice(SHOWN).map(row)); more.remove(); } },
    `Show all ${rows.length} classes`);
  return [list, more];
}

function novelty(found) {
  if (found.distance === null) return null;
  if (found.novelty === null) {
    return h("p.novelty", {}, h("span.soft", {}, "Distance to the nearest prototype: "), number(found.distance),
      h("span.soft", {}, ". How unusual that is, only an index of the training texts can say."));
  }
  const share = Math.round(100 * found.novelty);
  const word = found.novelty >= NOVEL ? "novel" : found.novelty >= 0.8 ? "unusual" : "familiar";
  return h("div.novelty", {},
    h("span.soft", { id: "novelty-name" }, "Novelty"),
    h("span.meter", { role: "meter", "aria-labelledby": "novelty-name", "aria-valuemin": "0", "aria-valuemax": "100",
      "aria-valuenow": share, "aria-valuetext": `${word}, ${share} of 100` },
      h("span", { css: { left: `${share}%` } })),
    h("span", {}, word, " ", h("span.soft", {}, `(farther out than ${share} % of the training texts)`)));
}

function evidence(found, context) {
  if (!found.evidence.length) {
    return h("section.panel", {}, h("h2", {}, "Evidence"),
      h("p.empty", {}, `The method ${found.method} keeps no prototypes, so there is no evidence to show.`));
  }
  const telling = found.evidence.filter((item, i) => i === 0 || (i < SHOWN && weight(item, found) >= SMALL));
  const steps = ladder(found);
  const row = (item) => one(item, found, context, steps.of(item));
  const list = h("ol.evidence", {}, telling.map(row));
  const hidden = found.evidence.slice(telling.length);
  const more = hidden.length
    ? h("button.quiet", { onclick: () => { list.append(...hidden.map(row)); more.remove(); } },
      `Show ${hidden.length} more, which add ${figure(sum(hidden), found)} together`)
    : null;
  const target = found.task === "regression" ? "value" : `probability of “${cut(String(found.prediction), 40)}”`;
  return h("section.panel", { "aria-labelledby": "evidence-title" },
    h("h2", { id: "evidence-title" }, "Evidence"),
    h("p.note", {}, `What each prototype adds to the ${target}. The parts sum to it exactly.`),
    Math.abs(found.base) > 0 && plain("Of no prototype", figure(found.base, found), steps.span(0, found.base)),
    list, more,
    found.rest_count > 0 && plain(`${found.rest_count} further prototypes`, figure(found.rest_share, found), steps.span(steps.end, steps.end + found.rest_share)),
    plain("Together", found.task === "regression" ? number(found.prediction) : percent(found.probability), steps.span(0, steps.end + found.rest_share), ".total"));
}

const sum = (items) => items.reduce((all, item) => all + item.share, 0);

/** Shares put one after the other: where each begins and ends, in percent of one scale. */
function ladder(found) {
  const ends = new Map();
  let at = found.base;
  for (const item of found.evidence) ends.set(item.row, [at, (at += item.share)]);
  const all = [0, found.base, at + found.rest_share, ...[...ends.values()].flat()];
  const low = Math.min(...all);
  const high = Math.max(found.task === "regression" ? low + 1e-9 : 1, ...all);
  const span = (from, to) => ({
    left: `${(100 * (Math.min(from, to) - low)) / (high - low)}%`, width: `${(100 * Math.abs(to - from)) / (high - low)}%`,
  });
  return { end: at, span, of: (item) => span(...ends.get(item.row)) };
}

/** A row of the sum that is no prototype. */
function plain(name, told, span, kind = "") {
  return h(`div.step${kind}`, {}, h("span.name", {}, name), h("span.figure", {}, told), bar(span, "var(--strong-line)"));
}

const bar = (span, colour) => h("span.bar", { "aria-hidden": "true" }, h("span", { css: { ...span, background: colour } }));

const figure = (share, found) =>
  found.task === "regression" ? `${share >= 0 ? "+" : "−"}${number(Math.abs(share))}` : percent(share);

const whole = (found) =>
  found.task === "regression" ? found.evidence.reduce((sum, item) => sum + Math.abs(item.share), 0) || 1 : 1;

/** How much of the whole a share is. */
export const weight = (item, found) => Math.abs(item.share) / whole(found);

/** A prototype with its share, and behind it what it says and what it is near to. */
function one(item, found, context, span) {
  const said = found.task === "regression"
    ? `says ${number(item.outputs[0])}`
    : found.classes.map((label, i) => [label, item.outputs[i]]).sort((a, b) => b[1] - a[1]).slice(0, 2).filter(([, chance], i) => i === 0 || chance >= 0.01)
      .map(([label, chance]) => `${label} ${percent(chance, 0)}`).join(", ");
  const without = item.without === null ? "It is the only prototype."
    : `Without it: ${found.task === "regression" ? number(item.without) : `${item.target} ${percent(item.without)}`}.`;
  return h("li", {},
    h("details", {},
      h("summary", {}, swatch(item.label, context), h("span.name", {}, item.name),
        h("span.figure", {}, figure(item.share, found)),
        bar(span, context.colours.of(item.label))),
      h("p.said", {}, `Importance ${percent(item.importance)}; says ${said.replace(/^says /, "")}. ${without}`),
      item.decoded && h("p.said", {}, "Decoded: ", h("q", {}, item.decoded)),
      h("button.quiet", { onclick: () => context.choose(item.row) }, "Show this prototype"),
      neighbours(item.nearest, context)));
}

function counter(found, context) {
  if (!found.counter) return null;
  return h("section.panel", { "aria-labelledby": "counter-title" },
    h("h2", { id: "counter-title" }, "Counter-evidence"),
    h("p.note", {}, `The strongest prototype for the runner-up, “${cut(String(found.runner_up), 40)}”, and what it adds to that.`),
    h("ol.evidence", {}, one(found.counter, found, context, ladder(found).span(0, found.counter.share))));
}

/** Training texts with their labels; without their words where the model keeps none. */
export function neighbours(list, context) {
  if (!list.length) return h("p.note", {}, "The model keeps no index of its training texts.");
  return h("ul.texts", {}, list.map((near) =>
    h("li", {}, h("span.tag", {}, swatch(near.label, context), context.shown(near.label)),
      near.text === null
        ? h("span.soft", {}, near.row < 0 ? "added by an edit" : `row ${near.row} of the training table`)
        : h("span", {}, cut(oneLine(near.text), 280)))));
}

function texts(list, title, context) {
  if (!list.length) return null;
  return h("section.panel", { "aria-label": title }, h("h2", {}, title), neighbours(list, context));
}
