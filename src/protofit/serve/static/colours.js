// A colour for each class, by its place in the order of the classes; in regression, by value.

const COLOURS = 10;

export class Colours {
  constructor(facts, values) {
    this.index = new Map(facts.classes.map((label, i) => [String(label), i]));
    this.low = Math.min(...values);
    this.high = Math.max(...values);
    this.numeric = facts.task === "regression";
  }

  of(label) {
    if (this.numeric) {
      const share = (Number(label) - this.low) / (this.high - this.low || 1);
      const clipped = Math.round(100 * Math.min(1, Math.max(0, share)));
      return `color-mix(in oklab, var(--c0), var(--c1) ${clipped}%)`;
    }
    const index = this.index.get(String(label));
    return index === undefined ? "var(--soft)" : `var(--c${index % COLOURS})`;
  }
}
