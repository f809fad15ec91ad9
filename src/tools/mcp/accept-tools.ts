import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { mcpToolName } from "../../contracts/mcp-server.ts";
import { cleanLine, cleanText } from "./clean-text.ts";

const longestDescription = 4096;
const schemaBounds = { bytes: 64 * 1024, depth: 32 };
const largestOffer = 1024 * 1024;

/** A server's tool as it is offered: taken over once, and never changed by the server afterwards. */
export interface AcceptedTool {
  /** The name by which the server knows the tool. */
  readonly name: string;
  /** The name by which agents know the tool. */
  readonly fullName: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
}

interface AcceptedTools {
  readonly tools: readonly AcceptedTool[];
  /** What was left out and why, as sentences. */
  readonly notes: readonly string[];
}

/** Decides what of a server's list is offered: by the declaration's patterns, names and sizes. */
export function acceptTools(
  server: string,
  listed: readonly ServerTool[],
  patterns: readonly string[] | undefined,
): AcceptedTools {
  const notes: string[] = [];
  const wanted = listed.filter(({ name }) => matches(name, patterns));
  const namedBy = Map.groupBy(wanted, ({ name }) => mcpToolName(server, name));
  const tools: AcceptedTool[] = [];
  let bytes = 0;
  for (const [fullName, [tool, ...others]] of namedBy) {
    if (tool === undefined) continue;
    const leaveOut = (why: string) =>
      notes.push(`${cleanLine(tool.name, 100)} is left out: ${why}.`);
    if (others.length > 0) {
      leaveOut(`${others.length + 1} tools would be called ${fullName}`);
      continue;
    }
    const problem = measureJson(tool.inputSchema, schemaBounds);
    if (problem !== undefined) {
      leaveOut(`its schema ${problem}`);
      continue;
    }
    const accepted = accept(server, tool, fullName);
    bytes += Buffer.byteLength(JSON.stringify(accepted.parameters) + accepted.description);
    if (bytes > largestOffer) {
      leaveOut("the descriptions of all tools together are too large");
      continue;
    }
    tools.push(accepted);
  }
  return { tools, notes };
}

function matches(name: string, patterns: readonly string[] | undefined): boolean {
  if (patterns === undefined) return true;
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

function accept(server: string, tool: ServerTool, fullName: string): AcceptedTool {
  const said = cleanText(tool.description ?? tool.title ?? "", longestDescription).trim();
  const { $schema, ...parameters } = cleanSchema(tool.inputSchema) as Record<string, unknown>;
  const isReadOnly = tool.annotations?.readOnlyHint === true;
  return Object.freeze({
    name: tool.name,
    fullName,
    description: said === "" ? `The tool ${cleanLine(tool.name, 100)} of ${server}.` : said,
    parameters: Object.freeze(parameters),
    isReadOnly,
    isIdempotent: isReadOnly || tool.annotations?.idempotentHint === true,
  });
}

/** A copy, in which the words for the model are clean; bounded by the check before. */
function cleanSchema(schema: unknown, key = ""): unknown {
  if (typeof schema === "string") {
    return key === "description" || key === "title"
      ? cleanText(schema, longestDescription)
      : schema;
  }
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return Object.freeze(schema.map((item) => cleanSchema(item)));
  const entries = Object.entries(schema).map(([name, value]) => [name, cleanSchema(value, name)]);
  return Object.freeze(Object.fromEntries(entries));
}

interface JsonBounds {
  readonly bytes: number;
  readonly depth: number;
}

/**
 * What is wrong with an untrusted JSON value, or undefined. Walks without recursion
 * and stops at the first bound, so the check itself costs no more than the bound.
 */
export function measureJson(value: unknown, bounds: JsonBounds): string | undefined {
  let bytes = 0;
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    bytes += sizeOf(next.value);
    if (bytes > bounds.bytes) return `is larger than ${bounds.bytes} bytes`;
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth > bounds.depth) return `is nested deeper than ${bounds.depth} levels`;
    const depth = next.depth + 1;
    if (Array.isArray(next.value)) {
      for (const item of next.value) open.push({ value: item, depth });
      continue;
    }
    for (const [key, item] of Object.entries(next.value)) {
      if (key === "__proto__") return 'has a key "__proto__"';
      bytes += Buffer.byteLength(key) + 4;
      open.push({ value: item, depth });
    }
    // The size counts also what is still to be examined: a list of a million numbers is not walked first.
    if (open.length > bounds.bytes) return `is larger than ${bounds.bytes} bytes`;
  }
  return undefined;
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 3;
  return typeof value === "object" ? 2 : 5;
}
