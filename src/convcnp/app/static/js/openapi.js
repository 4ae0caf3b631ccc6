// The description of the API, as a page.

import { ask } from "./api.js";
import { find, make } from "./page.js";

const described = await ask("openapi.json");
const named = (schema) => schema?.$ref?.split("/").at(-1);

function fields(name) {
  const { properties = {}, required = [] } = described.components.schemas[name] ?? {};
  const rows = Object.entries(properties).map(([field, schema]) => {
    const { title, default: standard, ...rest } = schema;
    const value = required.includes(field) ? "needed" : `${JSON.stringify(standard)} if left out`;
    return make("tr", {}, make("td", {}, make("code", { textContent: field })), make("td", { textContent: value }), make("td", {}, make("code", { textContent: JSON.stringify(rest) })));
  });
  return make("table", {}, make("caption", { textContent: name }), make("tbody", {}, ...rows));
}

for (const [path, methods] of Object.entries(described.paths)) {
  for (const [method, about] of Object.entries(methods)) {
    const part = make("details", {}, make("summary", {}, make("code", { textContent: `${method.toUpperCase()} ${path}` })), make("p", { textContent: about.description }));
    const asked = named(about.requestBody?.content?.["application/json"]?.schema);
    const answered = named(about.responses?.["200"]?.content?.["application/json"]?.schema);
    for (const name of [asked, answered].filter(Boolean)) part.append(fields(name));
    find("paths").append(part);
  }
}
