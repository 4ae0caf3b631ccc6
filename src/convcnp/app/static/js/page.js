// Small things that every part of the page does.

export const find = (id) => document.getElementById(id);

/** Make an element with properties and children. */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Fill a menu with [value, text] pairs, and keep what was chosen if it is still there. */
export function fillMenu(menu, choices, chosen = menu.value) {
  menu.replaceChildren(...choices.map(([value, text]) => make("option", { value, textContent: text })));
  if (choices.some(([value]) => value === chosen)) menu.value = chosen;
}

/** Give a file to the user. */
export function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The name of a file without its ending. */
export const stem = (name) => name.replace(/\.[^.]*$/, "") || "table";

/** A colour of the style sheet, as it is now. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Show an element only if something takes longer than a moment. */
export async function whileBusy(element, work) {
  const soon = setTimeout(() => (element.hidden = false), 250);
  try {
    return await work();
  } finally {
    clearTimeout(soon);
    element.hidden = true;
  }
}

/** A number in few characters. */
export function written(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  return Number(number.toPrecision(4)).toString();
}
