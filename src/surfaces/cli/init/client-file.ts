import {
  chmodSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readTextFile } from "../../../agents/documents/read-text-file.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import {
  entryAt,
  readJsonObject,
  readTomlTable,
  removeJsonEntry,
  removeTomlEntry,
  setJsonEntry,
  setTomlEntry,
} from "./edit-entry.ts";
import type { Launch, McpClient, UserPlace } from "./mcp-clients.ts";

const maximumBytes = 4 * 1024 * 1024;

/** A planned change of a client's file. */
export interface ClientChange {
  readonly file: string;
  readonly path: readonly string[];
  /** Undefined: no such entry. */
  readonly before: unknown;
  readonly after: unknown;
  readonly isNeeded: boolean;
  /** Null: the file is removed, for nothing else is in it. */
  readonly text: string | null;
}

export function planEntry(
  client: McpClient,
  file: string,
  launch: Launch,
  place: UserPlace,
): ClientChange {
  const { text, path, before } = look(client, file, place);
  const after = client.entry(launch);
  const next =
    client.format === "json"
      ? setJsonEntry(text, path, after)
      : setTomlEntry(text, path, after, file);
  requireEntry(client, next, path, after, file);
  const isNeeded = !isDeepStrictEqual(plain(before), plain(after));
  return { file, path, before, after, isNeeded, text: next };
}

export function planRemoval(client: McpClient, file: string, place: UserPlace): ClientChange {
  const { text, path, before } = look(client, file, place);
  if (before === undefined) return { file, path, before, after: before, isNeeded: false, text };
  const rest =
    client.format === "json" ? removeJsonEntry(text, path) : removeTomlEntry(text, path, file);
  requireEntry(client, rest ?? "", path, undefined, file);
  return { file, path, before, after: undefined, isNeeded: true, text: rest ?? null };
}

/** Replaces the file in one step: another program may read it at any moment. */
export function carryOut({ file, text }: ClientChange): void {
  if (text === null) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  // A symbolic link stays, and its target is replaced.
  const target = existsSync(file) ? realpathSync(file) : file;
  const draft = `${target}.${process.pid}.mandate`;
  try {
    writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
    chmodSync(draft, existsSync(target) ? statSync(target).mode & 0o777 : 0o644);
    renameSync(draft, target);
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * The new text is parsed again and must have the wanted entry: in a file that has a name twice, the
 * changed entry need not be the one that the client uses.
 */
function requireEntry(
  client: McpClient,
  text: string,
  path: readonly string[],
  meant: unknown,
  file: string,
): void {
  if (isDeepStrictEqual(plain(entryAt(read(client, text, file), path)), plain(meant))) return;
  throw new MandateError(
    "config-invalid",
    `${file}: "${path.join(".")}" can be read in more than one way; a name may be there twice. Fix it first; nothing was changed.`,
  );
}

function read(client: McpClient, text: string, file: string): unknown {
  return client.format === "json" ? readJsonObject(text, file) : readTomlTable(text, file);
}

/** Tables of TOML have no prototype, which counts as a difference. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function look(
  client: McpClient,
  file: string,
  place: UserPlace,
): { readonly text: string; readonly path: readonly string[]; readonly before: unknown } {
  const text = existsSync(file)
    ? readTextFile(realpathSync(file), { code: "config-invalid", maximumBytes })
    : "";
  const present = read(client, text, file);
  const path = client.path(present, place);
  for (let depth = 1; depth < path.length; depth++) {
    const holder = entryAt(present, path.slice(0, depth));
    if (holder === undefined || isTable(holder)) continue;
    const name = path.slice(0, depth).join(".");
    const sentence = `${file}: "${name}" should hold the servers by name. Fix it first; nothing was changed.`;
    throw new MandateError("config-invalid", sentence);
  }
  return { text, path, before: entryAt(present, path) };
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
