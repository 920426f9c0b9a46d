// Elements without markup strings: what a text says is never read as HTML.

export const byId = (id) => document.getElementById(id);

/** An element: `h("p.note", {id: "a", onclick: f}, "text", child, [children])`. */
export function h(spec, properties = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  return finish(document.createElement(tag), classes, properties, children);
}

/** The same for SVG. */
export function s(spec, properties = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return finish(node, classes, properties, children);
}

function finish(node, classes, properties, children) {
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Replace all children. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

/** A pair of texts, or a text, as one line. */
export const oneLine = (text) => (Array.isArray(text) ? text.join("  ·  ") : text ?? "");

/** Characters as the server counts them: an emoji is one. */
export const characters = (text = "") => [...text].length;

export const thousands = (count) => count.toLocaleString("en");

/** At most `length` characters, cut at a character. */
export function cut(text, length) {
  const characters = [...text];
  return characters.length <= length ? text : characters.slice(0, length - 1).join("") + "…";
}

/** Of something that rounds to nothing it says that it is not nothing. */
export function percent(share, digits = 1) {
  const least = 10 ** -digits;
  return share > 0 && 100 * share < least / 2 ? `< ${least.toFixed(digits)} %` : `${(100 * share).toFixed(digits)} %`;
}

export const number = (value) =>
  value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3
    ? value.toExponential(2) : String(+value.toPrecision(4));
