import type { ToolRule } from "../../contracts/tool-rule.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { coverDelegating, refuseMisspelt } from "./denied-tools.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { isBroadened, toMatches } from "./tool-patterns.ts";
import { isPlainSpelling, readToolReference } from "./tool-reference.ts";

type Action = ToolRule["action"];

/** Permissions without a counterpart: the workspace and the loop detection enforce them here. */
const withoutCounterpart = new Set(["external_directory", "doom_loop", "question"]);

/** What several configurations say about permissions or tools, one after the other. */
export class Layers {
  readonly layers: readonly unknown[];

  constructor(layers: readonly unknown[]) {
    this.layers = layers;
  }
}

/**
 * Reads opencode's `permission`: for each tool an action, or actions by glob; the last match
 * decides.
 */
export function readPermission(value: unknown, place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  if (value instanceof Layers) {
    const read = value.layers.map((layer) => readPermission(layer, place));
    const isWithoutServers = read.some((each) => each.isWithoutServers === true);
    return {
      rules: read.flatMap(({ rules }) => rules),
      ...(isWithoutServers && { isWithoutServers }),
    };
  }
  if (Array.isArray(value)) return readPermissionList(value, place);
  if (typeof value !== "object" || value === null) {
    return { rules: [{ tool: "*", action: readAction(value, "*", place) }] };
  }
  const names = Object.keys(value);
  if (names.length > 1000) {
    findings.refuse(`"${field}" names more than 1,000 tools`, line);
    return { rules: [] };
  }
  const hasPlain = (tool: string) =>
    names.some(
      (name) => isPlainSpelling(name) && toolsOf(name, place)?.names.includes(tool) === true,
    );
  const entries = Object.entries(value);
  const ofServers = entries.filter(([name]) => readToolReference(name, place).kind === "servers");
  const denials = ofServers.filter(([name, entry]) => deniesServers(name, entry, place));
  const rules = entries.flatMap(([name, entry]) => {
    if (ofServers.some(([each]) => each === name)) return [];
    const own = readPermissionEntry(name, entry, place);
    // `patch` beside `edit`: another name of the same tool does not decide about it.
    return isPlainSpelling(name) ? own : own.filter(({ tool }) => !hasPlain(tool));
  });
  return { rules, ...(denials.length > 0 && { isWithoutServers: true }) };
}

/**
 * Reads a list of entries that each name a tool, a pattern and a decision. A list with an effect for
 * each action allows nothing that it does not name.
 */
function readPermissionList(list: readonly unknown[], place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  const rules: ToolRule[] = [];
  const allowed: string[] = [];
  let isClosed = false;
  for (const item of list) {
    const entry = recordOf(item);
    const decision = ["effect", "decision", "action"].find((key) => isAction(entry[key]));
    const subject = ["permission", "tool", "action", "name"].find(
      (key) => key !== decision && typeof entry[key] === "string",
    );
    if (decision === undefined || subject === undefined) {
      findings.refuse(
        `"${field}" has an entry that names no tool, or none of allow, ask, deny`,
        line,
      );
      continue;
    }
    const name = String(entry[subject]);
    const pattern = entry["pattern"] ?? entry["resource"] ?? entry["path"] ?? "*";
    const globs = (Array.isArray(pattern) ? pattern : [pattern]).map(String);
    const action = readAction(entry[decision], name, place);
    if (decision === "effect") isClosed = true;
    for (const known of actionTools.get(name.toLowerCase()) ?? [name]) {
      if (action !== "deny") allowed.push(...(toolsOf(known, place)?.names ?? []));
      rules.push(
        ...readPermissionEntry(
          known,
          Object.fromEntries(globs.map((glob) => [glob, action])),
          place,
        ),
      );
    }
  }
  // With effects a denial wins wherever it stands; otherwise the last entry that matches decides.
  if (isClosed) rules.sort((one, other) => strictness[one.action] - strictness[other.action]);
  const isLimited = isClosed && !allowed.includes("*");
  if (isLimited) findings.lose(field, "narrowed", "actions that the list does not name are denied");
  // An exception for some calls allows the tool for those calls alone.
  const closed = isLimited ? allowed.map((tool): ToolRule => ({ tool, action: "deny" })) : [];
  return { rules: [...closed, ...rules], ...(isLimited && { tools: [...new Set(allowed)] }) };
}

const strictness: Readonly<Record<Action, number>> = { allow: 0, ask: 1, deny: 2 };

/** Words for what is done, where no tool is named. */
const actionTools: ReadonlyMap<string, readonly string[]> = new Map([
  ["read", ["read_file", "list_files", "glob", "grep"]],
  ["write", ["write_file", "edit_file"]],
  ["network", ["web_fetch", "web_search"]],
]);

/**
 * The permission for all tools of all MCP servers. It cannot be asked about as a whole, so «ask»
 * denies.
 */
export function deniesServers(name: string, value: unknown, place: ToolsPlace): boolean {
  const action = readAction(typeof value === "object" ? null : value, name, place);
  if (action === "ask") {
    const detail = "they cannot be asked about together; no server is given";
    place.findings.lose(`${place.field}.${name}`, "narrowed", detail);
  }
  return action !== "allow";
}

export function readPermissionEntry(
  name: string,
  value: unknown,
  place: ToolsPlace,
): readonly ToolRule[] {
  const { field, findings, line } = place;
  if (withoutCounterpart.has(name)) {
    findings.lose(`${field}.${name}`, "kept", "it has no counterpart here");
    return [];
  }
  const tools = toolsOf(name, place);
  const globs = typeof value === "object" && value !== null ? Object.entries(value) : undefined;
  const actions: readonly (readonly [string | undefined, Action])[] =
    globs === undefined || globs.length === 0
      ? [[undefined, readAction(globs === undefined ? value : null, name, place)]]
      : globs.map(([glob, action]) => [glob, readAction(action, `${name}.${glob}`, place)]);
  if (tools === undefined) {
    const onlyAllows = actions.every(([, action]) => action === "allow");
    if (onlyAllows) findings.lose(`${field}.${name}`, "narrowed", "no tool is known by this name");
    else findings.refuse(`"${field}" restricts "${shorten(name)}", which names no tool`, line);
    return [];
  }
  if (!tools.isKnown) {
    const said = globs === undefined ? [value] : globs.map(([, action]) => action);
    if (!said.every(isAction)) {
      findings.refuse(`"${field}.${shorten(name)}" is neither a tool nor allow, ask or deny`, line);
      return [];
    }
    const restricts = actions.some(([, action]) => action !== "allow");
    if (restricts && refuseMisspelt(name, place)) return [];
    findings.lose(field, "unknown", shorten(name));
  }
  const rules = tools.names.flatMap((tool) =>
    actions.flatMap(([glob, action]) =>
      rulesOf(tool, glob, action, { field: `${field}.${name}`, findings }),
    ),
  );
  return coverDelegating(rules);
}

function rulesOf(
  tool: string,
  glob: string | undefined,
  action: Action,
  { field, findings }: Pick<ToolsPlace, "field" | "findings">,
): readonly ToolRule[] {
  if (glob === undefined || glob === "*" || glob === "**" || glob === "**/*") {
    return [{ tool, action }];
  }
  const matches = toMatches(tool, glob, action);
  if (matches !== undefined) {
    if (action !== "allow" && isBroadened(tool, glob)) {
      const said = `${shorten(glob)} counts as ${matches.join(", ")}`;
      findings.lose(shorten(field), "narrowed", said);
    }
    return matches.map((match) => ({ tool, match, action }));
  }
  // An exception without equivalent is dropped; a denial without equivalent covers the whole tool.
  const detail =
    action === "allow" ? "is no exception here" : `cannot be kept: ${action} for all of ${tool}`;
  findings.lose(shorten(field), "narrowed", `${shorten(glob)} ${detail}`);
  return action === "allow" ? [] : [{ tool, action }];
}

/** Undefined for a pattern that matches no known tool. */
function toolsOf(name: string, place: ToolsPlace) {
  if (name === "*") return { names: ["*"], isKnown: true };
  // One permission for all changes of files.
  if (/^edit$/i.test(name)) return { names: ["edit_file", "write_file"], isKnown: true };
  const reference = readToolReference(name, place);
  if (reference.kind !== "tools" || reference.pattern !== undefined) return undefined;
  return reference;
}

function isAction(value: unknown): boolean {
  return typeof value === "boolean" || /^(?:allow|ask|deny|true|false)$/i.test(String(value));
}

export function readAction(value: unknown, name: string, place: ToolsPlace): Action {
  const { field, findings, line } = place;
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (word === true || word === "allow" || word === "true") return "allow";
  if (word === "ask") return "ask";
  if (word !== false && word !== "deny" && word !== "false") {
    const said = word === null ? "has no value" : "is none of allow, ask, deny";
    findings.warn(`"${field}.${shorten(name)}" ${said}; it is taken as deny`, line);
  }
  return "deny";
}
