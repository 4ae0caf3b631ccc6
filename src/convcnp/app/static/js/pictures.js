// Pictures: paint what is missing, or keep a share of the pixels, and see them completed.

import { ask, Latest } from "./api.js";
import { download, fillMenu, find, make, stem, whileBusy } from "./page.js";
import { bitsOf, Painting } from "./painting.js";

const DIGIT = 28; // pixels along a side
const DIGITS = "mnist-convcnp-long";

let chosen = null; // { name, blob }: what was asked for last
let given = null; // likewise, which the server has: what is sent again to one that came back
let picture = null; // what the server says of it
let completion = null;
let painting = null; // of what is missing
let digit = null; // of ink and paper
const latest = new Latest();

const part = (name) => find(`picture-${name}`);

export async function connected() {
  const models = (await ask("api/models")).filter((model) => model.completes);
  fillMenu(part("model"), [["", "the best for photographs"], ...models.map(({ name }) => [name, name])]);
  buildDigit();
  if (given) await take(given, true);
}

export function shown() {}

/** Give a picture to the server; again if it was forgotten. Late answers about another are dropped. */
async function take(what, isAgain = false) {
  if (!isAgain) chosen = what;
  const isReplaced = () => what !== (isAgain ? given : chosen);
  part("error").textContent = "";
  try {
    const answer = await ask(`api/pictures?name=${encodeURIComponent(what.name)}`, what.blob);
    if (isReplaced()) return;
    picture = answer;
    given = what;
    if (isAgain) return;
    const shownPicture = await createImageBitmap(await ask(`api/pictures/${picture.picture}.png`, undefined, "blob"));
    if (isReplaced()) return;
    part("body").hidden = false;
    painting = new Painting(part("given"), shownPicture, {
      size: () => Number(part("brush").value),
      tool: () => (part("rub").checked ? "uncover" : "hide"),
      onChange: complete,
    });
    for (const canvas of [part("completed"), part("doubt")]) show(canvas, null);
    part("said").textContent = picture.missing
      ? "Transparent pixels are missing."
      : "Paint over what is missing, or keep a share of the pixels.";
    if (picture.missing) complete();
  } catch (error) {
    if (!isReplaced()) part("error").textContent = error.message;
  }
}

/** Complete what is missing now; of those that come meanwhile only the last. */
function complete() {
  if (!picture) return undefined;
  return latest.run(async () => {
    const keep = Number(part("keep").value);
    const question = { model: part("model").value || null };
    if (keep) question.keep = keep / 100;
    if (painting.isPainted) question.mask = bitsOf(painting.missing());
    if (!keep && !painting.isPainted && !picture.missing) return;
    try {
      const found = await whileBusy(part("busy"), () => progressOfKept(question));
      completion = found.completion;
      part("said").textContent = found.sentence;
      part("command").textContent = found.command;
      part("warnings").replaceChildren(...found.warnings.map((text) => make("li", { textContent: text })));
      part("scale").textContent = `black 0, yellow ${found.doubt.toFixed(3)}`;
      await Promise.all(["completed", "doubt", ...(keep ? ["given"] : [])].map(load));
      part("error").textContent = "";
    } catch (error) {
      part("error").textContent = error.message;
    }
  });
}

/** Complete the picture that was given; give it again if the server has made room for others. */
async function progressOfKept(question) {
  try {
    return await progressOf("api/complete", { ...question, picture: picture.picture });
  } catch (error) {
    if (error.status !== 404) throw error;
    await take(given, true);
    return progressOf("api/complete", { ...question, picture: picture.picture });
  }
}

/** Ask for work that takes long: lines of JSON tell how far it is, and the last is the answer. */
async function progressOf(path, question) {
  const reader = (await ask(path, question, "stream")).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let last = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if (last.error) throw new Error(last.error);
      if (last.total) Object.assign(part("busy"), { max: last.total, value: last.done });
    }
  }
  part("busy").removeAttribute("value");
  if (!last?.completion) throw new Error("The server stopped before it was done.");
  return last;
}

async function load(which) {
  const blob = await ask(`api/completions/${completion}/${which}.png`, undefined, "blob");
  show(part(which), await createImageBitmap(blob));
}

function show(canvas, image) {
  canvas.width = image?.width ?? picture.width;
  canvas.height = image?.height ?? picture.height;
  if (image) canvas.getContext("2d").drawImage(image, 0, 0);
}

// --- Digits ---------------------------------------------------------------------------------------

/** A sheet on which strokes are ink or paper, and the rest is unknown. */
function buildDigit() {
  if (digit) return;
  const empty = new OffscreenCanvas(DIGIT, DIGIT);
  empty.getContext("2d").clearRect(0, 0, DIGIT, DIGIT);
  digit = new Painting(part("strokes"), empty, {
    size: () => 2.2,
    tool: () => (part("paper").checked ? "#000" : "#fff"),
    onChange: completeDigit,
  });
}

const digitLatest = new Latest();

function completeDigit() {
  return digitLatest.run(async () => {
    try {
      const canvas = new OffscreenCanvas(DIGIT, DIGIT);
      canvas.getContext("2d").drawImage(part("strokes"), 0, 0);
      const blob = await canvas.convertToBlob({ type: "image/png" });
      const sent = await ask("api/pictures?name=digit.png", blob);
      const found = await progressOf("api/complete", { picture: sent.picture, model: DIGITS });
      for (const which of ["completed", "doubt"]) {
        const image = await createImageBitmap(await ask(`api/completions/${found.completion}/${which}.png`, undefined, "blob"));
        show(part(`digit-${which}`), image);
      }
      part("digit-said").textContent = found.sentence;
    } catch (error) {
      part("error").textContent = error.message;
    }
  });
}

// --- What the user does -------------------------------------------------------------------------

part("file").addEventListener("change", () => {
  const [file] = part("file").files;
  if (file) take({ name: file.name, blob: file });
  part("file").value = "";
});
part("example").addEventListener("click", async () => {
  take({ name: "landscape.png", blob: await landscape() });
});
part("keep").addEventListener("input", () => {
  const keep = Number(part("keep").value);
  part("keep-said").textContent = keep ? `${keep} % of the pixels` : "all pixels";
  painting.restore();
  complete();
});
part("model").addEventListener("change", complete);
part("clean").addEventListener("click", () => {
  part("keep").value = 0;
  part("keep-said").textContent = "all pixels";
  painting.restore();
});
part("save").addEventListener("click", async () => {
  if (!completion) return;
  download(await ask(`api/completions/${completion}/completed.png`, undefined, "blob"), `${stem(picture.name)}-completed.png`);
});
part("save-mask").addEventListener("click", async () => {
  download(await painting.maskPicture(), "mask.png");
});
part("digit-clear").addEventListener("click", () => {
  digit.restore();
  for (const which of ["completed", "doubt"]) show(part(`digit-${which}`), new OffscreenCanvas(DIGIT, DIGIT));
});

export function drop(file) {
  take({ name: file.name, blob: file });
}

/** Draw a picture to play with, where nobody has one at hand. */
async function landscape() {
  const canvas = new OffscreenCanvas(256, 192);
  const context = canvas.getContext("2d");
  const sky = context.createLinearGradient(0, 0, 0, 130);
  sky.addColorStop(0, "#4a78c2");
  sky.addColorStop(1, "#f3d9b0");
  context.fillStyle = sky;
  context.fillRect(0, 0, 256, 192);
  context.fillStyle = "#ffe9a0";
  context.beginPath();
  context.arc(186, 52, 24, 0, 7);
  context.fill();
  for (const [height, wave, tone] of [[110, 60, "#7d8fb0"], [135, 38, "#4f7a5a"], [160, 90, "#33543c"]]) {
    context.fillStyle = tone;
    context.beginPath();
    context.moveTo(0, 192);
    for (let x = 0; x <= 256; x += 2) context.lineTo(x, height + 16 * Math.sin(x / wave + height) + 5 * Math.sin(x / 11));
    context.lineTo(256, 192);
    context.fill();
  }
  return canvas.convertToBlob({ type: "image/png" });
}
