import { type Keys, requireKnownKeys } from "../agents/documents/nearest-key.ts";
import type { Exposure } from "../contracts/exposure.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Effect, Tool } from "./tool.ts";

/**
 * Judges a tool when it is defined, and again where it is registered: what a JavaScript program
 * left out would be missed in the middle of work. There are no defaults. Whoever leaves
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
  for (const [field, words] of traits) {
    if (tool[field] === undefined || words.includes(tool[field])) continue;
    const write = `${words.map((word) => JSON.stringify(word)).join(" or ")}, or leave it out`;
    refuse(`The tool ${JSON.stringify(name)}`, field, write);
  }
  if (tool.changes === "none" && tool.effect === "write") {
    const write = '"reported" where its result names in `files` what it changed, or leave it out';
    refuse(`The tool ${JSON.stringify(name)}`, "changes", write);
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

/** What may be left out: a word that is none of these would say less than it seems to. */
const traits: readonly (readonly [keyof Tool, readonly unknown[]])[] = [
  ["mayComeBack", [true]],
  ["isAlsoUseful", [true]],
  ["waits", [true]],
  ["polls", ["state", "results"]],
  ["changes", ["none", "reported"]],
  ["savesMemory", [true]],
  ["describesChildren", [true]],
  ["choosesFrom", ["profiles", "agents", "skills"]],
  ["onlyFor", ["watcher", "orchestrator"]],
];

const rules: readonly (readonly [keyof Tool, Rule])[] = [
  ["description", { isFit: isText, write: "a sentence for the model that may call it" }],
  [
    "alongside",
    {
      isFit: (value) => value === undefined || isTexts(value),
      write: "sentences by the name of the other tool, or nothing",
    },
  ],
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
      isFit: isExposure,
      write:
        "{ untrusted, private, wayOut } with a boolean for each (untrusted: true where it can return what strangers wrote; private: true where it can return what is private; wayOut: true where its input can leave the machine)",
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
  alongside: true,
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
  polls: true,
  changes: true,
  savesMemory: true,
  describesChildren: true,
  choosesFrom: true,
  onlyFor: true,
  preflight: true,
  about: true,
  destinations: true,
  execute: true,
} satisfies Keys<Tool>;

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(isText);
}

function isExposure(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { private: hidden, untrusted, wayOut } = value as Partial<Exposure>;
  return (
    typeof untrusted === "boolean" &&
    (typeof hidden === "boolean" || hidden === "workspace") &&
    (typeof wayOut === "boolean" || wayOut === "any_host" || wayOut === "address")
  );
}

function refuse(what: string, field: string, write: string): never {
  throw new MandateError("usage", `${what} has no usable "${field}": write ${write}.`);
}
