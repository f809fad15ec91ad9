import type { ToolRule } from "../../contracts/tool-rule.ts";
import { denyTool } from "./denied-tools.ts";
import { deniesServers, readAction, readPermissionEntry } from "./permission.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { isPlainSpelling } from "./tool-names.ts";
import { readToolReference } from "./tool-reference.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";
import { warnIfNoneIsKnown } from "./warn-if-none-is-known.ts";

type Entries = readonly (readonly [string, unknown])[];

/**
 * `tools` as a map, where true allows and false denies. Where anything is allowed, nothing else
 * is, unless a `*` before it says so: a map that lists what may be used is read as a list. In
 * opencode what a map does not name stays as it is.
 */
export function readToolMap(entries: Entries, place: ToolsPlace): ToolAuthority {
  let everything: boolean | undefined;
  let allowed: string[] = [];
  let denied: string[] = [];
  const rules: ToolRule[] = [];
  let isWithoutServers = false;
  let isWithServers = false;
  for (const [name, value] of entries) {
    if (readToolReference(name).kind === "servers") {
      isWithoutServers = deniesServers(name, value, place);
      isWithServers = !isWithoutServers;
      continue;
    }
    const isGlobs = typeof value === "object" && value !== null;
    const action = isGlobs ? "allow" : readAction(value, name, place);
    if (name === "*") {
      // What stands before it is covered by it: the last match decides.
      everything = action !== "deny";
      allowed = [];
      denied = [];
    } else (action === "deny" ? denied : allowed).push(name);
    if (isGlobs || action === "ask") rules.push(...readPermissionEntry(name, value, place));
  }

  const names = allowed.flatMap((name) => namesOf(name, place));
  const granted = new Set(names.map(({ tool }) => tool));
  const plainly = new Set(names.filter(({ isPlain }) => isPlain).map(({ tool }) => tool));
  const prohibitions = denied.flatMap((name) =>
    denyTool(name, place).rules.map((rule) => ({ name, rule })),
  );
  for (const { name, rule } of prohibitions) {
    // `patch: false` beside `edit: true`: a second way to a tool that itself is allowed.
    if (plainly.has(rule.tool) && !isPlainSpelling(name)) continue;
    granted.delete(rule.tool);
    rules.push(rule);
  }
  const servers = {
    ...(isWithoutServers && { isWithoutServers }),
    ...(isWithServers && { isWithServers }),
  };
  if (everything === true) return { tools: "*", rules, ...servers };
  const isOpen = allowed.length === 0 || place.isOpenMap === true;
  if (everything === undefined && isOpen) return { rules, ...servers };
  const { field, findings } = place;
  if (everything === undefined) {
    findings.lose(field, "narrowed", "what the map does not name is not allowed");
  }
  warnIfNoneIsKnown(allowed, names.some(({ isKnown }) => isKnown) || isWithServers, place);
  return { tools: [...granted], rules, ...servers };
}

function namesOf(name: string, { field, findings, servers }: ToolsPlace) {
  const reference = readToolReference(name, servers);
  if (reference.kind !== "tools" || reference.pattern !== undefined) {
    findings.lose(field, "narrowed", `${shorten(name)} is not allowed: it is not one tool's name`);
    return [];
  }
  if (!reference.isKnown) findings.lose(field, "unknown", shorten(name));
  const isPlain = isPlainSpelling(name);
  return reference.names.map((tool) => ({ tool, isPlain, isKnown: reference.isKnown }));
}
