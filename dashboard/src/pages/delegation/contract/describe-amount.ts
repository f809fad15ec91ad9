import { formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";

/** Fields of a receipt in the words of people; others are said as they are. */
const fields: ReadonlyMap<string, string> = new Map([
  ["tokens", "Tokens"],
  ["timeout", "Time"],
  ["model", "Model"],
  ["tools", "Tools"],
  ["depth", "Depth"],
  ["skills", "Skills"],
  ["mcp_servers", "MCP servers"],
]);

export function nameOfField(field: string): string {
  return fields.get(field) ?? field.replaceAll("_", " ");
}

/** What was asked for or granted, in one line. */
export function describeAmount(field: string, value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number") {
    return field === "timeout" ? formatSpan(value) : value.toLocaleString("en");
  }
  if (value === "*") return "all";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(String).join(", ");
  return JSON.stringify(value);
}
