// The map: training texts as dots, prototypes as diamonds, the text that was asked as a ring.

import { byId, cut, fill, h, oneLine, s } from "./dom.js";
import { swatch, weight } from "./evidence.js";

const MARGIN = 26;
const MANY = 5; // classes that are quickly switched one by one
const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

export class Map2D {
  constructor(context) {
    this.context = context;
    this.hidden = new Set();
    this.points = this.cards = [];
    new ResizeObserver(() => this.fit()).observe(byId("map"));
  }

  /** Draw texts and prototypes anew. */
  draw(points, cards) {
    Object.assign(this, { points, cards });
    byId("map-panel").hidden = points.length + cards.length === 0;
    if (!cards.length && !points.length) return;
    this.note(points);
    this.render();
    this.legend();
    this.tell();
  }

  /** Draw again where the room has changed: a mark keeps its size. */
  fit() {
    if (!this.scale || byId("map").clientWidth === this.width) return;
    this.render();
    this.filter();
    this.choose(this.chosen);
    this.place(this.found);
  }

  render() {
    const { points, cards } = this;
    this.width = byId("map").clientWidth || 640;
    this.height = Math.round(Math.min(520, Math.max(300, 0.72 * this.width)));
    this.scale = fitted([...points, ...cards].map((each) => each.position), this.width, this.height);
    const dots = points.map((point) => this.dot(point));
    this.marks = cards.map((card, i) => this.mark(card, i));
    this.you = s("g.you", { visibility: "hidden" }, s("circle", { r: 11 }), s("circle.core", { r: 3.5 }));
    this.lines = s("g.lines");
    const picture = s("svg", { width: this.width, height: this.height, role: "group",
      "aria-label": "Map of training texts and prototypes; arrow keys go from prototype to prototype",
      onkeydown: (event) => this.walk(event), onpointerleave: () => this.tell() },
      s("g", { "aria-hidden": "true" }, dots), this.lines, s("g", {}, this.marks), this.you);
    fill(byId("map"), picture);
    this.dots = dots;
  }

  dot(point) {
    const [x, y] = this.scale(point.position);
    const told = `${this.context.shown(point.label)}: ${point.text === null ? `row ${point.row}` : cut(oneLine(point.text), 220)}`;
    return s("circle.dot", { cx: x, cy: y, r: 2.8, css: { fill: this.context.colours.of(point.label) },
      "data-label": String(point.label), onpointerenter: () => this.tell(told) });
  }

  mark(card, i) {
    const [x, y] = this.scale(card.position);
    const told = `Prototype ${card.name} (${this.context.shown(card.label)})`;
    return s("g.mark", { transform: `translate(${x} ${y})`, role: "button", tabindex: i === 0 ? "0" : "-1",
      "aria-label": told, "aria-pressed": "false", "data-label": String(card.label),
      onpointerenter: () => this.tell(told), onfocus: () => this.tell(told),
      onclick: () => this.context.choose(card.row) },
      s("rect.reach", { x: -12, y: -12, width: 24, height: 24 }),
      s("path", { d: "M0-7.5 7.5 0 0 7.5-7.5 0Z", css: { fill: this.context.colours.of(card.label) } }));
  }

  note(points) {
    const atlas = this.context.atlas;
    const held = Math.round(100 * (atlas.explained[0] + atlas.explained[1]));
    byId("map-note").textContent = points.length
      ? `Two main directions of the features (${held} % of their variance). Dots: ${atlas.shown} of ${atlas.total} training texts; diamonds: prototypes.`
      : "Diamonds: prototypes. The model keeps no index of its training texts, so there are no dots.";
  }

  legend() {
    if (this.context.facts.task === "regression") {
      fill(byId("legend"), h("span.ramp", { "aria-hidden": "true" }), h("span.soft", {}, "low values to high values"));
      return;
    }
    const labels = this.context.facts.classes;
    fill(byId("legend"), labels.map((label) =>
      h("button.chip", { "aria-pressed": String(!this.hidden.has(String(label))), onclick: (event) => this.toggle(label, event.currentTarget) },
        swatch(label, this.context), String(label))));
    this.filter();
    this.offer();
  }

  toggle(label, button) {
    const key = String(label);
    if (!this.hidden.delete(key)) this.hidden.add(key);
    button.setAttribute("aria-pressed", String(!this.hidden.has(key)));
    this.filter();
    this.offer();
  }

  /** Where there are many classes: hide or show them all at once. */
  offer() {
    const labels = this.context.facts.classes.map(String);
    const none = labels.every((label) => this.hidden.has(label));
    const switched = () => {
      this.hidden = new Set(none ? [] : labels);
      this.legend();
      byId("map-tools").querySelector("button").focus();
    };
    fill(byId("map-tools"), labels.length > MANY && h("button.quiet", { onclick: switched }, none ? "Show all classes" : "Hide all classes"));
  }

  filter() {
    for (const node of [...this.dots, ...this.marks]) node.classList.toggle("away", this.hidden.has(node.dataset.label));
    const shown = this.shown();
    this.stop(shown.find((node) => node.tabIndex === 0) ?? shown[0]);
  }

  /** Marks of the classes that are not filtered away. */
  shown() {
    return this.marks.filter((node) => !this.hidden.has(node.dataset.label));
  }

  /** The one mark that the tab key stops at. */
  stop(chosen) {
    for (const node of this.marks) node.setAttribute("tabindex", node === chosen ? "0" : "-1");
  }

  /** Say what is under the pointer or the focus. */
  tell(text = "Point at a mark to read it; press a diamond to see its prototype.") {
    byId("map-detail").textContent = text;
  }

  /** Mark the chosen prototype. */
  choose(row) {
    this.chosen = row;
    this.marks?.forEach((node, i) => {
      const chosen = this.cards[i].row === row;
      node.setAttribute("aria-pressed", String(chosen));
      if (chosen) node.parentNode.append(node);
    });
  }

  /** Put the asked text on the map, tied to the prototypes that carried its answer. */
  place(found) {
    this.found = found;
    if (!this.you) return;
    fill(this.lines);
    if (!found?.position) {
      this.you.setAttribute("visibility", "hidden");
      this.tell();
      return;
    }
    const [x, y] = this.scale(found.position, true);
    this.you.setAttribute("visibility", "visible");
    this.you.setAttribute("transform", `translate(${x} ${y})`);
    for (const item of found.evidence.slice(0, 3)) {
      const card = this.cards.find((each) => each.row === item.row);
      if (!card || weight(item, found) < 0.01) continue;
      const [to_x, to_y] = this.scale(card.position);
      this.lines.append(s("line", { x1: x, y1: y, x2: to_x, y2: to_y, css: { "stroke-width": 0.8 + 3 * item.importance } }));
    }
    this.tell("The ring is your text; lines lead to the prototypes that carried the answer.");
  }

  /** The focus goes to the nearest prototype in the direction of an arrow key. */
  walk(event) {
    const node = event.target.closest(".mark");
    if (!node) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      node.dispatchEvent(new MouseEvent("click"));
      return;
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const place = (each) => this.scale(this.cards[this.marks.indexOf(each)].position);
    const [x, y] = place(node);
    const cost = (each) => {
      const [dx, dy] = [place(each)[0] - x, place(each)[1] - y];
      const along = dx * step[0] + dy * step[1];
      return along <= 0 ? Infinity : along + 3 * Math.abs(dx * step[1] + dy * step[0]);
    };
    const others = this.shown().filter((each) => each !== node && cost(each) < Infinity);
    if (!others.length) return;
    const next = others.reduce((best, each) => (cost(each) < cost(best) ? each : best));
    this.stop(next);
    next.focus();
  }
}

/** Positions of the features → of the picture; with `inside`, held within its frame. */
function fitted(positions, width, height) {
  const range = (axis) => {
    const values = positions.map((position) => position[axis]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return high > low ? [low, high] : [low - 1, high + 1];
  };
  const [[x0, x1], [y0, y1]] = [range(0), range(1)];
  return ([x, y], inside = false) => {
    const across = MARGIN + ((x - x0) / (x1 - x0)) * (width - 2 * MARGIN);
    const down = height - MARGIN - ((y - y0) / (y1 - y0)) * (height - 2 * MARGIN);
    if (!inside) return [across, down];
    return [Math.min(width - 13, Math.max(13, across)), Math.min(height - 13, Math.max(13, down))];
  };
}
