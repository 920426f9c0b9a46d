// Calls of the JSON API. A refusal or a silent server becomes a `Trouble` with a reason.

export class Trouble extends Error {
  constructor(found, fix = "", status = 0) {
    super(found);
    this.fix = fix;
    this.status = status;
  }
}

async function call(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble("The server does not answer.", "Is it still running? Its terminal says.");
  }
  const said = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `the server answered ${answer.status}` };
  });
  if (!answer.ok) throw new Trouble(sentence(said.error), said.fix, answer.status);
  return said;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

export const get = (path) => call(`/api/${path}`);

export const post = (path, body, signal) =>
  call(`/api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

/** Calls `work(signal)` once nothing was asked for `wait` ms; an older call is given up. */
export function debounced(work, wait = 200) {
  let timer;
  let running;
  return (at_once = false) => {
    clearTimeout(timer);
    running?.abort();
    timer = setTimeout(() => {
      running = new AbortController();
      work(running.signal).catch((error) => {
        if (error.name !== "AbortError") throw error;
      });
    }, at_once ? 0 : wait);
  };
}
