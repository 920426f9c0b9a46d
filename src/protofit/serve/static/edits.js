// Edits: shown on the evaluation set first, then kept as a new version of the model, or not.

import { Trouble, get, post } from "./api.js";
import { byId, cut, fill, h, number, oneLine, percent } from "./dom.js";
import { itemsOf, troubleOf } from "./lines.js";

const three = (value) => value.toFixed(3);
const FIGURES = [
  ["accuracy", "Accuracy", percent], ["accuracy_new", "Accuracy on the new class", percent],
  ["macro_f1", "Macro F1", percent], ["log_loss", "Log-loss", three], ["ece", "Calibration error", percent],
  ["mse", "Squared error", number], ["pearson", "Pearson", three], ["spearman", "Spearman", three],
];

export class Edits {
  constructor(context, reload) {
    this.context = context;
    this.reload = reload;
  }

  /** Buttons of a prototype's card. */
  buttons(card) {
    const button = (name, work) => h("button", { onclick: work }, name);
    return h("div.buttons", {},
      button("Rename", () => this.rename(card)),
      button("Merge", () => this.merge(card)),
      button("Delete", () => this.remove(card)));
  }

  /** Buttons above the cards. */
  tools() {
    const named = this.context.facts.classes.length > 0;
    fill(byId("card-tools"),
      h("button", { onclick: () => this.add() }, "Add prototype"),
      named ? h("button", { onclick: () => this.addClass() }, "Add class") : null);
  }

  /** The kept edits, and the way back. */
  async history(told = "") {
    const { edits } = await get("edits");
    const box = byId("history");
    box.hidden = !edits.length && !told;
    fill(box, h("p.told", {}, told),
      edits.length ? h("details", {},
        h("summary", {}, edits.length === 1 ? "1 edit" : `${edits.length} edits`),
        h("ol", {}, edits.map((edit) => h("li", {}, edit.description)))) : null,
      edits.length ? h("button", { id: "undo", onclick: (event) => this.undo(event.currentTarget) }, "Undo last edit") : null);
    if (told) (byId("undo") ?? byId("card-tools").querySelector("button"))?.focus({ preventScroll: true });
  }

  async undo(button) {
    button.disabled = true;
    try {
      await post("edits/undo", { version: this.context.facts.version });
      await this.reload("The last edit was undone.");
    } catch (error) {
      this.open("Undo", [], null);
      this.failed(error);
      button.disabled = false;
    }
  }

  rename(card) {
    const name = h("input", { id: "field", required: true, maxlength: 120, value: card.name, autocomplete: "off" });
    this.open(`Rename “${cut(card.name, 60)}”`, [h("label", { for: "field" }, "Name"), name],
      () => ({ action: "rename", row: card.row, name: name.value.trim() }), () => unnamed(name));
    name.select();
  }

  remove(card) {
    this.open(`Delete “${cut(card.name, 60)}”`, [h("p.note", {}, "The prototype no longer takes part in any prediction.")],
      () => ({ action: "delete", row: card.row }));
  }

  merge(card) {
    const others = this.context.cards.filter((other) => other.row !== card.row && String(other.label) === String(card.label));
    if (!others.length) {
      this.open(`Merge “${cut(card.name, 60)}”`, [h("p.note", {}, "There is no other prototype of its class to merge it with.")], null);
      return;
    }
    const choice = h("select", { id: "field" }, others.map((other) => h("option", { value: other.row }, other.name)));
    this.open(`Merge “${cut(card.name, 60)}”`, [h("label", { for: "field" }, "with"), choice,
      h("p.note", {}, "Their mean takes the place of both.")],
    () => ({ action: "merge", rows: [card.row, Number(choice.value)] }));
  }

  add() {
    const { classes } = this.context.facts;
    const texts = this.textsField();
    const label = classes.length
      ? h("select", { id: "label-field" }, classes.map((name, i) => h("option", { value: i }, String(name))))
      : h("input", { id: "label-field", type: "number", step: "any", required: true, value: "0" });
    this.open("Add a prototype", [...texts.nodes, h("label", { for: "label-field" }, classes.length ? "Class" : "Value"), label],
      () => ({ action: "add", items: texts.items(), label: classes.length ? classes[Number(label.value)] : Number(label.value) }), texts.trouble);
  }

  addClass() {
    const numeric = typeof this.context.facts.classes[0] === "number";
    const name = h("input", { id: "label-field", required: true, maxlength: 120, autocomplete: "off" });
    const texts = this.textsField();
    const typed = () => (numeric ? Number(name.value) : name.value.trim());
    const misnamed = () => unnamed(name) || (numeric && !Number.isInteger(typed()) ? "The classes of this model are whole numbers." : "");
    this.open("Add a class", [h("label", { for: "label-field" }, "Name of the new class"), name, ...texts.nodes],
      () => ({ action: "add-class", name: typed(), items: texts.items() }), () => misnamed() || texts.trouble());
  }

  /** Texts for a prototype: one per line, the asked one to begin with. */
  textsField() {
    const { limits, facts: { paired } } = this.context;
    const now = this.context.question();
    const field = h("textarea", { id: "texts-field", rows: 5, required: true, spellcheck: "false" });
    field.value = now ? (paired ? `${now.text}\t${now.pair}` : now.text).replaceAll("\n", " ") : "";
    const items = () => itemsOf(field.value, paired);
    const trouble = () => (items().length ? troubleOf(items(), limits.edit_items, limits) : "Give at least one text.");
    return { items, trouble, nodes: [h("label", { for: "texts-field" }, paired ? "Pairs, one per line, a tab between the two" : "Texts, one per line"), field] };
  }

  /** The dialog: fields, "Show effect", and only then "Keep". */
  open(title, fields, edit, trouble = () => "") {
    Object.assign(this, { edit, trouble });
    this.asked = null; // what the effect in the dialog is of
    const dialog = byId("editor");
    this.keep = h("button.strong", { type: "button", disabled: true, onclick: () => this.keepIt() }, "Keep edit");
    const form = h("form", { oninput: () => this.stale(), onsubmit: (event) => { event.preventDefault(); this.tryIt(); } },
      h("h2", { id: "editor-title" }, title), fields, h("div.effect", { id: "effect", role: "status" }),
      h("div.buttons", {},
        edit && h("button", { type: "submit" }, "Show effect"), edit && this.keep,
        h("button.quiet", { type: "button", onclick: () => dialog.close() }, edit ? "Cancel" : "Close")));
    fill(dialog, form);
    if (!dialog.open) dialog.showModal();
  }

  stale() {
    this.asked = null;
    this.keep.disabled = true;
    fill(byId("effect"));
  }

  async tryIt() {
    const trouble = this.trouble();
    if (trouble) {
      this.stale();
      this.failed(new Trouble(trouble));
      return;
    }
    const body = { version: this.context.facts.version, edit: this.edit() };
    this.stale();
    this.asked = body;
    fill(byId("effect"), h("p.note", {}, "Measuring …"));
    try {
      const effect = await post("edits/try", body);
      if (this.asked !== body) return; // changed meanwhile
      fill(byId("effect"), this.effect(effect));
      this.keep.disabled = false;
    } catch (error) {
      if (this.asked === body) this.failed(error);
    }
  }

  async keepIt() {
    this.keep.disabled = true;
    try {
      const { effect } = await post("edits/keep", this.asked);
      byId("editor").close();
      await this.reload(`Kept: ${effect.description}`);
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    fill(byId("effect"), h("p.notice.warn", { role: "alert" }, `${error.message} ${error.fix ?? ""}`));
    if (error.status === 409) this.offerReload().catch(() => {}); // the reason already stands there
  }

  /** Where the model was edited elsewhere: a way to go on from there. */
  async offerReload() {
    const { version } = await get("edits");
    if (version === this.context.facts.version) return;
    const load = async () => {
      byId("editor").close();
      await this.reload("The model was loaded again.");
    };
    byId("effect").append(h("button", { type: "button", onclick: load }, "Load it again"));
  }

  effect(effect) {
    const known = (value) => value !== undefined && value !== null;
    const rows = FIGURES.filter(([key]) => known(effect.before[key]) || known(effect.after[key]));
    const shown = (value, shape) => known(value) ? shape(value) : "–";
    const judged = rows.length > 0;
    return [
      h("p", {}, effect.description.charAt(0).toUpperCase() + effect.description.slice(1), "."),
      judged ? h("table.figures", {},
        h("caption", {}, `On ${effect.before.examples} evaluation texts`),
        h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, "now"), h("th", { scope: "col" }, "after"))),
        h("tbody", {}, rows.map(([key, name, shape]) => h("tr", {}, h("th", { scope: "row" }, name),
          h("td", {}, shown(effect.before[key], shape)), h("td", {}, shown(effect.after[key], shape))))))
        : h("p.note", {}, "No evaluation set was given (--eval), so the effect is not measured."),
      judged && h("p", {}, effect.changed_count === 0 ? "No prediction changes."
        : `${effect.changed_count} ${effect.changed_count === 1 ? "prediction changes" : "predictions change"}:`),
      h("ul.texts", {}, effect.changed.slice(0, 5).map((row) => h("li", {},
        h("span.tag", {}, `${row.before} → ${row.after}${row.after === row.truth ? " (right now)" : row.before === row.truth ? " (wrong now)" : ""}`),
        h("span", {}, cut(oneLine(row.text), 160))))),
    ];
  }
}

const unnamed = (field) => (field.value.trim() ? "" : "Give it a name.");
