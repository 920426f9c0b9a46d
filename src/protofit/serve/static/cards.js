// The list of prototypes: what each is near to, what it says, and its edit buttons.

import { byId, fill, h, number, oneLine, percent } from "./dom.js";
import { neighbours, swatch } from "./evidence.js";

const SHOWN = 30; // cards before "show more"

export class Cards {
  constructor(context) {
    this.context = context;
    this.chosen = null;
    this.most = SHOWN;
    byId("class-filter").addEventListener("change", () => this.filter());
    byId("find").addEventListener("input", () => this.filter());
  }

  /** Take new prototypes. */
  load(cards) {
    this.cards = this.arranged(cards);
    byId("cards-panel").hidden = cards.length === 0;
    byId("cards-title").textContent = `Prototypes (${cards.length})`;
    const before = byId("class-filter").value;
    const classes = this.context.facts.classes.map(String);
    fill(byId("class-filter"), h("option", { value: "" }, "all"), classes.map((label) => h("option", { value: label }, label)));
    byId("class-filter").value = classes.includes(before) ? before : "";
    byId("class-filter").closest("label").hidden = classes.length === 0;
    this.show();
  }

  /** Class by class (or by value), those with the most texts first. */
  arranged(cards) {
    const places = new Map(this.context.facts.classes.map((label, i) => [String(label), i]));
    const place = (card) => places.get(String(card.label)) ?? Number(card.label);
    return [...cards].sort((a, b) => place(a) - place(b) || b.support - a.support);
  }

  filter() {
    this.most = SHOWN;
    this.show();
  }

  show() {
    const label = byId("class-filter").value;
    const wanted = byId("find").value.trim().toLowerCase();
    const found = this.cards.filter((card) => (!label || String(card.label) === label)
      && (!wanted || `${card.name} ${card.nearest.map((near) => oneLine(near.text)).join(" ")}`.toLowerCase().includes(wanted)));
    const hidden = found.length - this.most;
    fill(byId("cards"), found.length ? found.slice(0, this.most).map((card) => this.card(card)) : h("li.empty", {}, "No prototype is like that."),
      hidden > 0 && h("li.more", {}, h("button.quiet", { onclick: () => this.more() }, `Show ${hidden} more`)));
  }

  more() {
    const before = this.most;
    this.most = Infinity;
    this.show();
    byId("cards").children[before].querySelector("summary").focus({ preventScroll: true });
  }

  card(card) {
    const open = this.chosen === card.row;
    return h("li", { id: `card-${card.row}` },
      h("details", { open, ontoggle: (event) => this.toggled(card, event.currentTarget.open) },
        h("summary", {}, swatch(card.label, this.context), h("span.name", {}, card.name),
          h("span.soft.support", {}, this.supported(card))),
        h("p.said", {}, this.said(card)),
        card.decoded && h("p.said", {}, "Decoded: ", h("q", {}, card.decoded)),
        neighbours(card.nearest, this.context),
        this.context.edits?.buttons(card)));
  }

  supported(card) {
    if (!this.context.facts.has_index) return this.context.shown(card.label);
    return card.support === 1 ? "1 text" : `${card.support} texts`;
  }

  said(card) {
    const facts = this.context.facts;
    const says = facts.task === "regression" ? number(card.outputs[0])
      : facts.classes.map((label, i) => [label, card.outputs[i]]).sort((a, b) => b[1] - a[1]).slice(0, 3).filter(([, chance], i) => i === 0 || chance >= 0.01)
        .map(([label, chance]) => `${label} ${percent(chance, 0)}`).join(", ");
    const born = card.born === null ? "" : card.born === 0 ? " There from the start." : ` Created at step ${card.born}.`;
    return `Says ${says}.${born}`;
  }

  toggled(card, open) {
    if (open && this.chosen !== card.row) this.context.choose(card.row, false);
  }

  /** Open one card; with `scroll`, bring it into view and give it the focus. */
  choose(row, scroll) {
    this.chosen = row;
    let node = byId(`card-${row}`);
    if (!node) {
      byId("class-filter").value = "";
      byId("find").value = "";
      this.most = Infinity;
      this.show();
      node = byId(`card-${row}`);
    }
    if (!node) return;
    node.querySelector("details").open = true;
    if (!scroll) return;
    node.scrollIntoView({ block: "nearest" });
    node.querySelector("summary").focus({ preventScroll: true });
  }
}
