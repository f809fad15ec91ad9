import { judgeByRules } from "../../contracts/judge-by-rules.ts";
import { includes, isSubset } from "../../contracts/selection.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { builtInTools, delegatingTools } from "./tool-reference.ts";

const commands = ["git status", "git push --force", "rm -rf x", "npm test", "ls"];
const paths = ["a.ts", "docs/a.md", "docs/deep/a.md", ".env", "src/app.test.ts", "secrets/key"];
const others = ["https://example.com/a", "https://other.org", "reviewer", "planner"];
const probes = [
  ...commands.map((value) => ({ kind: "text" as const, values: [value] })),
  ...others.map((value) => ({ kind: "text" as const, values: [value] })),
  ...paths.map((value) => ({ kind: "path" as const, values: [value] })),
  undefined,
];
const levels = { deny: 0, ask: 1, allow: 2 } as const;

/**
 * What a profile could do under a ceiling that allows everything, as numbers that can be compared:
 * for each tool and each thing a call can be about 0 (no), 1 (after asking) or 2.
 */
function authorityOf(fields: ProfileFields, tools: readonly string[]): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  for (const tool of tools) {
    const isGranted = fields.disabled !== true && holds(fields, tool);
    const handed = fields.mayDelegate?.tools;
    result.set(`${tool} handed on`, isGranted && (!handed || includes(handed, tool)) ? 1 : 0);
    for (const probe of probes) {
      const ruling = judgeByRules([fields.toolRules ?? []], tool, probe);
      const name = `${tool} ${probe?.kind ?? "unsaid"} ${probe?.values[0] ?? ""}`;
      result.set(name, isGranted ? levels[ruling] : 0);
    }
  }
  // However many tools there are for it: whether it can have children at all, and which.
  for (const probe of ["", ...others]) {
    const subject = probe === "" ? undefined : { kind: "text" as const, values: [probe] };
    const ways = delegatingTools.filter((tool) => fields.disabled !== true && holds(fields, tool));
    const rulings = ways.map(
      (tool) => levels[judgeByRules([fields.toolRules ?? []], tool, subject)],
    );
    result.set(`children ${probe}`, Math.max(0, ...rulings));
  }
  result.set("writing", fields.workspace?.allowWrites === false ? 0 : 1);
  result.set("turns", fields.limits?.turns ?? Number.POSITIVE_INFINITY);
  result.set("time", fields.limits?.timeoutMs ?? Number.POSITIVE_INFINITY);
  result.set("tokens", fields.limits?.tokens ?? Number.POSITIVE_INFINITY);
  return result;
}

/** Where `inner` could do more than `outer`. Empty: nowhere. */
export function findWider(inner: ProfileFields, outer: ProfileFields): readonly string[] {
  // Names that only the inner one makes up are no tools; these stand for all others there are.
  const others = ["anything_else", "mcp__other__tool"];
  const tools = [...new Set([...builtInTools, ...delegatingTools, ...named(outer), ...others])];
  const held = authorityOf(outer, tools);
  const wider = [...authorityOf(inner, tools)]
    .filter(([what, level]) => level > (held.get(what) ?? 0))
    .map(([what, level]) => `${what}: ${level} > ${held.get(what)}`);
  for (const key of ["skills", "scopes", "network"] as const) {
    if (!isSubset(inner[key] ?? "*", outer[key] ?? "*")) wider.push(key);
  }
  const isFree = (fields: ProfileFields) => fields.exit?.tools === undefined;
  if (isFree(inner) && !isFree(outer)) wider.push("exit");
  return wider;
}

/** As the runtime grants: tools of a server by its name, or all of a server that is given. */
function holds({ mcpServers, tools = "*" }: ProfileFields, tool: string): boolean {
  const server = /^mcp__(.+?)__/.exec(tool)?.[1];
  if (server === undefined) return includes(tools, tool);
  if (mcpServers !== undefined && !includes(mcpServers, server)) return false;
  const own = tools === "*" ? [] : tools.filter((each) => each.startsWith(`mcp__${server}__`));
  if (own.length > 0) return includes(own, tool);
  return tools === "*" || mcpServers !== undefined;
}

function named({ mcpServers, servers, toolRules, tools }: ProfileFields): string[] {
  const names = [
    ...(tools === undefined || tools === "*" ? [] : tools),
    ...(toolRules ?? []).map(({ tool }) => tool),
    ...(mcpServers === undefined || mcpServers === "*" ? [] : mcpServers).map(
      (name) => `mcp__${name}__*`,
    ),
    ...Object.keys(servers ?? {}).map((name) => `mcp__${name}__*`),
  ];
  return names.filter((name) => name !== "*").map((name) => name.replace(/\*$/, "some"));
}

/** Whether any tool makes children, whomever they would be. */
export function mayHaveChildren(fields: ProfileFields): "no" | "ask" | "yes" {
  const level = Math.max(
    ...[...authorityOf(fields, [])].flatMap(([what, each]) =>
      what.startsWith("children") ? each : [],
    ),
  );
  return level === 0 ? "no" : level === 1 ? "ask" : "yes";
}
