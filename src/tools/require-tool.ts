import type { Exposure } from "../contracts/exposure.ts";
import { type Keys, requireKnownKeys } from "../documents/require-known-keys.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Effect, Tool } from "./tool.ts";

/**
 * Judges a tool when it is defined, and again where it is registered: what a JavaScript program
 * left out would be missed in the middle of somebody's work. There are no defaults. Whoever leaves
 * the effect or the scopes out has not said that the tool is harmless.
 */
export function requireTool(tool: Tool): void {
  const given: unknown = tool;
  if (typeof given !== "object" || given === null) {
    throw new MandateError(
      "usage",
      `A tool is an object, not ${given === null ? given : typeof given}.`,
    );
  }
  const { name } = tool;
  if (typeof name !== "string") refuse("A tool", "name", 'a string, such as "look_up"');
  for (const [field, { isFit, write }] of rules) {
    if (!isFit(tool[field])) refuse(`The tool ${JSON.stringify(name)}`, field, write);
  }
}

/** The same for one that is written down as such: a misspelt `exposure` would say nothing. */
export function requireToolDefinition(tool: Tool): void {
  requireTool(tool);
  requireKnownKeys(`defineTool(${JSON.stringify(tool.name)})`, tool, toolKeys);
}

const effects = {
  read: true,
  write: true,
  exec: true,
  network: true,
  spawn: true,
} satisfies Record<Effect, true>;

const rules: readonly (readonly [keyof Tool, Rule])[] = [
  ["description", { isFit: isText, write: "a sentence for the model that may call it" }],
  [
    "effect",
    {
      isFit: (value) => typeof value === "string" && Object.hasOwn(effects, value),
      write: "what a call does to the world: read, write, exec, network or spawn",
    },
  ],
  [
    "idempotent",
    {
      isFit: (value) => typeof value === "boolean",
      write: "true where a call that a crash cut may simply be made again, otherwise false",
    },
  ],
  [
    "scopes",
    {
      isFit: (value) => Array.isArray(value) && value.every(isText),
      write: "the scopes that a contract must hold for it, or [] for none",
    },
  ],
  [
    "exposure",
    {
      isFit: (value) => value === undefined || isExposure(value),
      write: "{ untrusted, private, wayOut }, all three, or leave it out",
    },
  ],
  [
    "input",
    {
      isFit: (value) => typeof value === "object" && value !== null && "safeParse" in value,
      write: "a schema of Zod: z.strictObject({ … })",
    },
  ],
  [
    "execute",
    { isFit: (value) => typeof value === "function", write: "the function that does it" },
  ],
];

interface Rule {
  isFit(value: unknown): boolean;
  readonly write: string;
}

const toolKeys = {
  name: true,
  description: true,
  effect: true,
  idempotent: true,
  exposure: true,
  scopes: true,
  input: true,
  ends: true,
  mayComeBack: true,
  isAlsoUseful: true,
  shown: true,
  parameters: true,
  waits: true,
  preflight: true,
  about: true,
  destinations: true,
  execute: true,
} satisfies Keys<Tool>;

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isExposure(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { private: hidden, untrusted, wayOut } = value as Partial<Exposure>;
  return (
    typeof untrusted === "boolean" &&
    (typeof hidden === "boolean" || hidden === "workspace") &&
    (typeof wayOut === "boolean" || wayOut === "any_host")
  );
}

function refuse(what: string, field: string, write: string): never {
  throw new MandateError("usage", `${what} has no usable "${field}": write ${write}.`);
}
