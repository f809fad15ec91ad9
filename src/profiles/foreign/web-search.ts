import type { ToolAuthority } from "./tool-authority.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";

const searching: ReadonlySet<unknown> = new Set([true, "live", "cached"]);
const silent: ReadonlySet<unknown> = new Set([false, "disabled"]);

/** Whether the web may be searched, as Codex says it. What is not known is taken as a no. */
export function readWebSearch(
  value: unknown,
  { field, findings, line }: ToolsPlace,
): ToolAuthority {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (searching.has(word)) return { rules: [] };
  if (!silent.has(word)) {
    findings.warn(`"${field}" is "${shorten(String(word))}"; it is taken as disabled`, line);
  }
  return { rules: [{ tool: "web_search", action: "deny" }] };
}
