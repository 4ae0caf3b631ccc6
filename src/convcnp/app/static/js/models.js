// The models that ship, with their numbers beside the paper's, and a figure of each.

import { ask } from "./api.js";
import { find, make } from "./page.js";

export async function connected() {
  const models = await ask("api/models");
  const rows = models.map((model) => {
    const button = make("button", { type: "button", textContent: model.name });
    button.addEventListener("click", () => showFigure(model.name));
    const number = (text) => make("td", { className: "number", textContent: text });
    return make(
      "tr",
      {},
      make("td", {}, button),
      make("td", { textContent: model.use }),
      number(`${model.log_likelihood.toFixed(2)} ± ${model.standard_error.toFixed(2)}`),
      number(model.paper ? model.paper[0].toFixed(2) : ""),
      number(model.parameters.toLocaleString("en")),
      number(`${Math.round(model.bytes / 1000)} kB`),
    );
  });
  find("models-list").tBodies[0].replaceChildren(...rows);
}

export function shown() {}

async function showFigure(name) {
  const figure = find("models-figure");
  find("models-said").textContent = `Drawing ${name} …`;
  try {
    const blob = await ask(`api/models/${name}/figure.png`, undefined, "blob");
    if (figure.src) URL.revokeObjectURL(figure.src);
    figure.src = URL.createObjectURL(blob);
    figure.alt = `What ${name} predicts`;
    figure.hidden = false;
    find("models-said").textContent = name;
  } catch (error) {
    find("models-said").textContent = error.message;
  }
}
