// Several texts at once: a line is a text; a row of the table opens its evidence.

import { debounced, post } from "./api.js";
import { byId, cut, fill, h, number, oneLine, percent, thousands } from "./dom.js";
import { swatch } from "./evidence.js";
import { charactersOf, itemsOf, troubleOf } from "./lines.js";
import { answered, showEmpty, showTooMuch } from "./states.js";

export class Several {
  constructor(context, open) {
    this.context = context;
    this.open = open;
    this.unsure = false;
    this.ask = debounced((signal) => this.load(signal), 350);
    byId("texts").addEventListener("input", () => { this.count(); this.ask(); });
    byId("clear-several").addEventListener("click", () => { byId("texts").value = ""; this.count(); this.ask(true); byId("texts").focus(); });
  }

  items() {
    return itemsOf(byId("texts").value, this.context.facts.paired);
  }

  count() {
    const items = this.context.facts ? this.items() : [];
    byId("clear-several").hidden = items.length === 0;
    byId("lines").textContent = items.length ? `${thousands(items.length)} ${items.length === 1 ? "text" : "texts"}` : "";
  }

  trouble(items) {
    const limits = this.context.limits;
    const all = charactersOf(items);
    return troubleOf(items, limits.batch_items, limits)
      || (all > limits.batch_chars && `At most ${thousands(limits.batch_chars)} characters at once; there are ${thousands(all)}.`);
  }

  async load(signal) {
    if (!this.context.facts) return;
    const target = byId("table");
    const items = this.items();
    if (!items.length) {
      const numeric = this.context.facts.task === "regression";
      showEmpty(target, `Paste texts above, one per line: each gets its ${numeric ? "value" : "label and how sure the model is"}.`);
      return;
    }
    const trouble = this.trouble(items);
    if (trouble) {
      showTooMuch(target, trouble);
      return;
    }
    await answered(target, async () => {
      this.found = { items, results: (await post("batch", { items }, signal)).results };
      this.show();
    }, () => this.ask(true));
  }

  show() {
    const { items, results } = this.found;
    const regression = this.context.facts.task === "regression";
    const order = results.map((_, i) => i);
    if (this.unsure) order.sort((a, b) => results[a].probability - results[b].probability);
    const box = h("input", { type: "checkbox", onchange: (event) => { this.unsure = event.target.checked; this.show(); byId("table").querySelector("input")?.focus(); } });
    box.checked = this.unsure;
    fill(byId("table"), h("section.panel", { "aria-labelledby": "table-title" },
      h("div.heading", {}, h("h2", { id: "table-title" }, `${items.length} ${items.length === 1 ? "prediction" : "predictions"}`),
        regression ? null : h("label.tools", {}, box, " Least certain first")),
      regression ? null : this.tally(results),
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Predictions" }, h("table.predictions", { role: "table" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ["Text", regression ? "Value" : "Label", regression ? null : "Certainty"].map((name) => name && h("th", { scope: "col", role: "columnheader" }, name)))),
        h("tbody", { role: "rowgroup" }, order.map((i) => this.row(items[i], results[i], regression)))))));
    byId("announce").textContent = `${items.length} predictions`;
  }

  /** The roles are said: on a phone the rows are laid out as blocks. */
  row(item, result, regression) {
    const text = oneLine(item.pair === undefined ? item.text : [item.text, item.pair]);
    return h("tr", { role: "row" },
      h("td", { role: "cell" }, h("button.link", { onclick: () => this.open(item), title: "Show the evidence" }, cut(text, 160)),
        result.truncated && h("span.soft", {}, " (only its beginning was read)")),
      h("td", { role: "cell" }, h("span.tag", {}, swatch(result.prediction, this.context), regression ? number(result.prediction) : String(result.prediction))),
      regression ? null : h("td.figure", { role: "cell" }, percent(result.probability)));
  }

  tally(results) {
    const counts = new Map();
    for (const { prediction } of results) counts.set(prediction, (counts.get(prediction) ?? 0) + 1);
    const rows = [...counts].sort((a, b) => b[1] - a[1]);
    return h("ul.tally", { "aria-label": "Texts of each class" }, rows.map(([label, count]) =>
      h("li.tag", {}, swatch(label, this.context), `${label} `, h("b", {}, String(count)))));
  }
}
