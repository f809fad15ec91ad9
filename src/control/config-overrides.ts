import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigFile } from "./config-schema.ts";
import type { Environment } from "./places.ts";

/** Settings of the command line; each has an environment variable. */
export interface ConfigFlags {
  readonly model?: string;
  readonly maxDepth?: number | string;
  readonly timeoutMs?: number | string;
  readonly maxConcurrent?: number | string;
  readonly tokens?: number | string;
  readonly runTokens?: number | string;
  readonly maxChildren?: number | string;
  readonly askDeadlineMs?: number | string;
  readonly synchronous?: string;
  readonly databaseUrl?: string;
  readonly tenant?: string;
  readonly engine?: string;
  /** A flag of one call only: as a variable, it would remove the sandbox of every program below. */
  readonly unsandboxed?: boolean;
  readonly engineSchema?: string;
}

interface Setting {
  /** Null: only a person's flag says it. */
  readonly variable: string | null;
  readonly path: readonly [string, string, ...string[]];
  /** Completes the sentence "… must be". */
  readonly expected: string;
  readonly read: (value: string) => string | number | boolean | undefined;
  /** An error does not quote the value. */
  readonly isSecret?: true;
}

const settings: Readonly<Record<keyof ConfigFlags, Setting>> = {
  model: {
    variable: "MANDATE_MODEL",
    path: ["models", "default"],
    expected: 'written "provider/model"',
    read: (value) => (/^[^\s/]+\/\S+$/.test(value) ? value : undefined),
  },
  maxDepth: count("MANDATE_MAX_DEPTH", ["agents", "delegation", "maxDepth"]),
  timeoutMs: duration("MANDATE_TIMEOUT_MS", ["agents", "delegation", "defaultTimeout"]),
  maxConcurrent: count("MANDATE_MAX_CONCURRENT", ["agents", "delegation", "maxConcurrent"]),
  tokens: count("MANDATE_TOKENS", ["agents", "delegation", "tokenBudget", "default"]),
  runTokens: count("MANDATE_RUN_TOKENS", ["limits", "runTokens"]),
  maxChildren: count("MANDATE_MAX_CHILDREN", ["limits", "maxChildren"]),
  askDeadlineMs: duration("MANDATE_ASK_DEADLINE_MS", ["ask", "deadlineMs"]),
  synchronous: {
    variable: "MANDATE_DATABASE_SYNCHRONOUS",
    path: ["database", "synchronous"],
    expected: "full or normal",
    read: (value) => (value === "full" || value === "normal" ? value : undefined),
  },
  databaseUrl: {
    variable: "MANDATE_DATABASE_URL",
    path: ["database", "url"],
    expected: "a URL",
    read: (value) => (URL.canParse(value) ? value : undefined),
    isSecret: true,
  },
  tenant: {
    variable: "MANDATE_TENANT",
    path: ["database", "tenant"],
    expected: "at most 31 small letters, digits and _, a letter first",
    read: (value) => (/^[a-z][a-z0-9_]{0,30}$/.test(value) ? value : undefined),
  },
  engine: {
    variable: "MANDATE_ENGINE",
    path: ["engine", "kind"],
    expected: "local or dbos",
    read: (value) => (value === "local" || value === "dbos" ? value : undefined),
  },
  unsandboxed: {
    variable: null,
    path: ["tools", "shell", "unsandboxed"],
    expected: "true or false",
    read: (value) => (value === "true" || value === "false" ? value === "true" : undefined),
  },
  engineSchema: {
    variable: "MANDATE_ENGINE_SCHEMA",
    path: ["engine", "schema"],
    expected: "at most 63 small letters, digits and _, a letter first",
    read: (value) => (/^[a-z][a-z0-9_]{0,62}$/.test(value) ? value : undefined),
  },
};

/**
 * The environment and the flags as one layer over the files; flags win. An empty variable counts as
 * unset. Validated by hand, so that a start without files loads no schema library.
 */
export function readOverrides(environment: Environment, flags: ConfigFlags): ConfigFile {
  const layer: Record<string, unknown> = {};
  for (const [flag, setting] of Object.entries(settings) as [keyof ConfigFlags, Setting][]) {
    const given = flags[flag];
    const { variable } = setting;
    const raw = given === undefined ? variable && environment[variable] : String(given);
    if (raw === undefined || raw === null || (raw === "" && given === undefined)) continue;
    const value = setting.read(raw);
    if (value === undefined) {
      const source = given === undefined ? setting.variable : `The option ${flag}`;
      const quote = setting.isSecret ? "" : `; it is "${raw}"`;
      throw new MandateError("config-invalid", `${source} must be ${setting.expected}${quote}.`);
    }
    place(layer, setting.path, value);
  }
  return layer as ConfigFile;
}

function place(layer: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let inner = layer;
  for (const key of path.slice(0, -1)) {
    inner[key] ??= {};
    inner = inner[key] as Record<string, unknown>;
  }
  inner[path.at(-1) ?? ""] = value;
}

function count(variable: string, path: Setting["path"]): Setting {
  return { variable, path, expected: "a positive whole number", read: wholeNumber(2 ** 53 - 1) };
}

function duration(variable: string, path: Setting["path"]): Setting {
  const expected = "a positive whole number of milliseconds, at most 2147483647";
  return { variable, path, expected, read: wholeNumber(2 ** 31 - 1) };
}

function wholeNumber(maximum: number): Setting["read"] {
  return (value) => {
    const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : 0;
    return number > 0 && number <= maximum ? number : undefined;
  };
}
