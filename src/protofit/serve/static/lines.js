// Texts or pairs as lines of a field, and what the server would not take of them.

import { characters, thousands } from "./dom.js";

/** A line is a text; of a pair, a tab or “ | ” parts the two. */
export function itemsOf(value, paired) {
  const lines = value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!paired) return lines.map((text) => ({ text }));
  return lines.map((line) => {
    const [text, ...rest] = line.split(/\t|\s\|\s/);
    return { text: text.trim(), pair: rest.join(" ").trim() };
  });
}

/** One sentence, or "" where all is well; `most` items are taken. */
export function troubleOf(items, most, limits) {
  if (items.length > most) return `At most ${thousands(most)} texts at once; there are ${thousands(items.length)}.`;
  const alone = items.findIndex((item) => item.pair === "");
  if (alone >= 0) return `Pair ${alone + 1} has no second text: put a tab or “ | ” between the two.`;
  const long = items.findIndex((item) => Math.max(characters(item.text), characters(item.pair)) > limits.text_chars);
  return long >= 0 ? `Text ${long + 1} has more than ${thousands(limits.text_chars)} characters.` : "";
}

/** Characters of all of them. */
export const charactersOf = (items) =>
  items.reduce((all, item) => all + characters(item.text) + characters(item.pair), 0);
