// What stands in the place of an answer: waiting, refused, nothing asked, too much asked.

import { fill, h } from "./dom.js";

const SLOW = 250; // ms before the page says that it is waiting

/** Runs `work`; says so when it takes long, and in the end either shows it or says what failed. */
export async function answered(target, work, again) {
  const waiting = setTimeout(() => showWaiting(target), SLOW);
  try {
    await work();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    showTrouble(target, error, again);
    return error;
  } finally {
    clearTimeout(waiting);
    target.removeAttribute("aria-busy");
  }
  return null;
}

function showWaiting(target) {
  target.setAttribute("aria-busy", "true");
  if (target.querySelector(".panel:not(.waiting)")) return; // the old answer stays, paler
  fill(target, h("section.panel.waiting", {}, h("span"), h("span"), h("span"), h("p.hidden", {}, "Waiting for the model")));
}

function showTrouble(target, error, again) {
  const retry = () => {
    target.tabIndex = -1; // the button is about to go: its focus stays here
    target.focus({ preventScroll: true });
    again();
  };
  fill(target, h("div.notice.warn", { role: "alert" }, h("p", {}, h("strong", {}, error.message), ` ${error.fix ?? ""}`),
    h("button", { onclick: retry }, "Try again")));
}

export const showEmpty = (target, told) => fill(target, h("p.empty", {}, told));

export const showTooMuch = (target, told) => fill(target, h("p.notice.warn", {}, told));
