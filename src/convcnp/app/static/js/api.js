// Questions to the server, and whether it is there.

const RETRY = 1500; // milliseconds

/** What the server refused, in its own sentence. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** Tells "up" when the server has opened this page, also again, and "down" when it is gone. */
export const connection = new EventTarget();

let page = "";
let isUp = false;

function tell(up, reason = "") {
  isUp = up;
  connection.dispatchEvent(Object.assign(new Event(up ? "up" : "down"), { reason }));
}

/** Open the page at the server, and again whenever that was lost. */
export function connect() {
  const events = new EventSource("api/page");
  events.addEventListener("hello", (event) => {
    page = event.data;
    tell(true);
  });
  events.onerror = () => {
    events.close();
    page = "";
    if (isUp) tell(false);
    whyNot().then((reason) => tell(false, reason));
    setTimeout(connect, RETRY);
  };
}

/** Ask why the page cannot be opened: a server that was started anew does not know it. */
async function whyNot() {
  try {
    const answer = await fetch("api/examples");
    return answer.ok ? "" : (await answer.json()).error;
  } catch {
    return "";
  }
}

/** Do some work, and say on the page how much is under way: tests wait until nothing is. */
async function underWay(work) {
  const { dataset } = document.documentElement;
  const count = (by) => (dataset.underWay = Number(dataset.underWay ?? 0) + by);
  count(1);
  try {
    return await work();
  } finally {
    count(-1);
  }
}

/**
 * Ask a question; a body that is no Blob is sent as JSON. Returns the answer by its kind, or throws
 * what was refused.
 */
export function ask(path, body, kind = "json") {
  return underWay(() => answered(path, body, kind));
}

async function answered(path, body, kind) {
  const options = { headers: { "X-Page": page } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = body instanceof Blob ? body : JSON.stringify(body);
    options.headers["Content-Type"] =
      body instanceof Blob ? "application/octet-stream" : "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused("The server does not answer.", 0);
  }
  if (!answer.ok) {
    const found = await answer.json().catch(() => ({ error: `The server answers ${answer.status}.` }));
    throw new Refused(found.error, answer.status);
  }
  return kind === "stream" ? answer.body : answer[kind]();
}

/**
 * Does one thing at a time, and of those that come meanwhile only the last: what a hand that moves
 * wants.
 */
export class Latest {
  #next = null;
  #isBusy = false;

  async run(work) {
    this.#next = work;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#next) {
        const now = this.#next;
        this.#next = null;
        await underWay(now);
      }
    } finally {
      this.#isBusy = false;
    }
  }
}
