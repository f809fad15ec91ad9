import { isRecord } from "./plain-data.ts";

/** A map of texts, with variables in our own way of writing them. */
export function textsOf(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(
    entries.map(([key, text]) => [key, withVariables(text === null ? "" : String(text))]),
  );
}

/** Names of variables that are handed on: they are taken from the environment when it starts. */
export function variablesOf(value: unknown): Record<string, string> | undefined {
  const names = Array.isArray(value) ? value.filter((name) => isVariable(name)) : [];
  return names.length === 0
    ? undefined
    : Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
}

export function headersOf(
  config: Readonly<Record<string, unknown>>,
): Record<string, string> | undefined {
  const written = textsOf(config["headers"] ?? config["http_headers"]);
  const { bearer_token_env_var: token, env_http_headers: named } = config;
  const fromVariables = Object.entries(isRecord(named) ? named : {}).filter(
    ([key, name]) => key !== "__proto__" && isVariable(name),
  );
  const headers = {
    ...(isVariable(token) && { Authorization: `Bearer \${${token}}` }),
    ...Object.fromEntries(fromVariables.map(([key, name]) => [key, `\${${name}}`])),
    ...written,
  };
  return written === undefined && Object.keys(headers).length === 0 ? undefined : headers;
}

function isVariable(name: unknown): name is string {
  return typeof name === "string" && /^[A-Za-z_]\w*$/.test(name);
}

/** `${env:NAME}` is `${NAME}` here; what asks a person or an editor stays as it is. */
export function withVariables(text: string): string {
  return text.replaceAll("${env:", "${");
}
