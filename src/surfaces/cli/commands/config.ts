import { existsSync } from "node:fs";
import { nearestKey } from "../../../agents/documents/nearest-key.ts";
import { type Config, defaultConfig } from "../../../control/config.ts";
import { type ConfigLayer, placeOf } from "../../../control/config-layer.ts";
import { type LoadedConfig, loadConfig, type SettledConfig } from "../../../control/load-config.ts";
import { findPlaces } from "../../../control/places.ts";
import { openStore } from "../../../open-store.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { type Arguments, type Command, chosenFrom, jsonOption } from "../command.ts";
import { drawTable, titled } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printable, printableLine, printJson } from "../printable.ts";

export const configCommand: Command = {
  name: "config",
  usage: "[options] [list | get KEY | path]",
  about:
    "Shows the configuration that applies in this folder: list prints each setting with its value and\n" +
    "where the value comes from, get prints one value, path prints the files and folders. Keys and\n" +
    "passwords are never shown. A setting is changed in its file: docs/reference/configuration.md.",
  options: { json: jsonOption },
  words: { least: 0, most: 2 },
  examples: ["config", "config get limits.runTokens", "config path"],
  run: (given, io) => chosenFrom("config", actions, given.words[0])(given, io),
};

const actions: Readonly<Record<string, Command["run"]>> = { list, get, path };

interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
}

async function list(given: Arguments, io: Io): Promise<number> {
  takeWords(given, 0);
  const { loaded, settled } = await readConfig(io);
  const settings = settingsOf(loaded, settled.config);
  if (given.flag("json")) {
    const entries = settings.map(({ key, value, source }) => [key, { value, source }]);
    printJson(io, Object.fromEntries(entries));
    return exitCode.done;
  }
  const rows = settings.map(({ key, value, source }) =>
    [key, source, shown(value)].map(printableLine),
  );
  const columns = titled("setting", "from", "value");
  io.stdout.write(`${drawTable(columns, rows, io, { leastRoom: 24 }).join("\n")}\n`);
  for (const { file } of settled.waiting) {
    io.stderr.write(
      `${printableLine(file)} has no effect until you trust it: ${io.program} profiles trust\n`,
    );
  }
  return exitCode.done;
}

async function get(given: Arguments, io: Io): Promise<number> {
  const [key = ""] = takeWords(given, 1);
  const { loaded, settled } = await readConfig(io);
  const settings = settingsOf(loaded, settled.config);
  const value = valueAt(key, settings);
  if (value === undefined) return requireKnown(key, settings, io);
  if (given.flag("json")) printJson(io, value);
  else io.stdout.write(`${printable(shown(value))}\n`);
  return exitCode.done;
}

/** The value of a setting, or all settings below a key as one object. */
function valueAt(key: string, settings: readonly Setting[]): unknown {
  const exact = settings.find((setting) => setting.key === key);
  if (exact !== undefined) return exact.value;
  const below = settings.filter((setting) => setting.key.startsWith(`${key}.`));
  if (below.length === 0) return undefined;
  return Object.fromEntries(below.map((each) => [each.key.slice(key.length + 1), each.value]));
}

/** A key that has no value is no error; an unknown one is. */
async function requireKnown(key: string, settings: readonly Setting[], io: Io): Promise<number> {
  const { publishedSchemas } = await import("../../../control/config-schema.ts");
  const known = keysOf(publishedSchemas()["mandate.schema.json"]);
  if (known.includes(key)) {
    io.stderr.write(`${key} is not set.\n`);
    return exitCode.failed;
  }
  const nearest = nearestKey(key, [...known, ...settings.map((setting) => setting.key)]);
  throw new MandateError(
    "usage",
    `There is no setting ${JSON.stringify(key.slice(0, 80))}. ${nearest === undefined ? `${io.program} config lists them.` : `Did you mean ${nearest}?`}`,
  );
}

function keysOf(schema: unknown): readonly string[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, unknown> };
  return Object.entries(properties).flatMap(([name, below]) => [
    name,
    ...keysOf(below).map((key) => `${name}.${key}`),
  ]);
}

async function path(given: Arguments, io: Io): Promise<number> {
  takeWords(given, 0);
  const { loaded, settled } = await readConfig(io);
  const places = findPlaces(io.environment);
  const waiting = new Set(settled.waiting.map(({ file }) => file));
  const used = new Set(settled.config.files);
  const own = [...new Set([places.userConfig, ...loaded.files.flatMap(({ file = [] }) => file)])];
  const stateOf = (file: string): string => {
    if (waiting.has(file)) return "not trusted: no effect";
    if (used.has(file)) return "used";
    return existsSync(file) ? "not used" : "does not exist";
  };
  const files = [...own, ...loaded.found].map((file) => ({ file, state: stateOf(file) }));
  const { home, userAgents, userSkills } = places;
  if (given.flag("json")) {
    printJson(io, { files, home, agents: userAgents, skills: userSkills });
    return exitCode.done;
  }
  const rows = [
    ...files.map(({ file, state }) => ["configuration", `${file} (${state})`]),
    ...[["home", home], ["agents", userAgents], ["skills", userSkills]], // biome-ignore format: a table
  ];
  for (const [name = "", where = ""] of rows) {
    io.stdout.write(`${name.padEnd(13)}  ${printableLine(where)}\n`);
  }
  return exitCode.done;
}

function takeWords(
  { words: [word = "list", ...rest] }: Arguments,
  count: number,
): readonly string[] {
  if (rest.length === count) return rest;
  const takes = count === 0 ? "takes no more words" : "takes the name of one setting";
  throw new MandateError("usage", `config ${word} ${takes}.`);
}

/** The store knows which found files are trusted; without such a file no store is opened. */
async function readConfig({ cwd, environment }: Io) {
  const loaded = await loadConfig({ cwd, environment });
  const settled: SettledConfig = { config: loaded.own, waiting: [] };
  if (loaded.found.length === 0) return { loaded, settled };
  const { settleByRecords } = await import("../../../control/records/trust-records.ts");
  const store = await openStore({ ...loaded.own.database, environment });
  try {
    return { loaded, settled: await settleByRecords(loaded, store) };
  } finally {
    await store.close();
  }
}

/** Every setting that has a value. Profiles have a command of their own. */
function settingsOf(loaded: LoadedConfig, config: Config): readonly Setting[] {
  const { files, notTaken: _, profiles: __, ...settings } = config;
  const project = files.find((file) => loaded.found.includes(file));
  const layers: readonly ConfigLayer[] = [loaded.overrides, ...loaded.files.toReversed()];
  return leavesOf(withoutSecrets(settings), []).map(({ path: keys, value }) => {
    const layer = layers.find(({ settings: own }) => at(own, keys) !== undefined);
    const isDefault = same(at(defaultConfig, keys), value);
    const source =
      layer === loaded.overrides
        ? "environment"
        : layer !== undefined
          ? placeOf(layer, keys)
          : isDefault || project === undefined
            ? "default"
            : project;
    return { key: keys.join("."), value, source };
  });
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

function leavesOf(value: unknown, path: readonly string[]): readonly Leaf[] {
  const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isGroup) return value === undefined || value === null ? [] : [{ path, value }];
  return Object.entries(value).flatMap(([key, below]) => leavesOf(below, [...path, key]));
}

/** Keys, passwords and headers of requests; everything below such a name is hidden. */
const secret = /^(?:api_?key|args|headers|env|authorization|.*token|.*password|.*secret)$/i;
/** In text that is no address as the standard defines it, for example one with several hosts. */
const holdsSecret =
  /:\/\/[^/]|[:=].*@|(?:key|token|secret|password|pwd)\s*[=:]|-(?:key|token|secret|password)\s/is;
const hidden = "(hidden)";

function withoutSecrets(value: unknown, name = ""): unknown {
  if (value === undefined || value === null) return value;
  if (secret.test(name)) return hidden;
  if (typeof value === "string") return shownText(value, name);
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, name));
  if (typeof value !== "object") return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, below]) => [key, withoutSecrets(below, key)]));
}

/** What is shown of a value: the program of a command, the host and path of an address. */
function shownText(text: string, name: string): string {
  const [, program = "", rest = ""] = /^\s*(\S*)(.*)$/s.exec(text) ?? [];
  if (name === "command" && rest.trim() !== "") return `${shownText(program, "")} ${hidden}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if ((url === undefined || url.host === "") && holdsSecret.test(text)) return hidden;
  const parts = (["username", "password", "search", "hash"] as const).filter((part) => url?.[part]);
  if (url === undefined || parts.length === 0) return text;
  for (const part of parts) url[part] = "hidden";
  return url.href;
}

function at(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  const isGroup = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isGroup ? at((value as Readonly<Record<string, unknown>>)[key], rest) : undefined;
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
