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
import { readTextFile } from "../../../documents/read-text-file.ts";
import { readJsonObject, removeJsonEntry, setJsonEntry } from "./edit-json-entry.ts";
import { entryAt, readTomlTable, removeTomlEntry, setTomlEntry } from "./edit-toml-entry.ts";
import type { Launch, McpClient, UserPlace } from "./mcp-client.ts";

const maximumBytes = 4 * 1024 * 1024;

/** What is to be done to a client's file; nothing has been done yet. */
export interface ClientChange {
  readonly file: string;
  readonly path: readonly string[];
  /** Undefined: there is no such entry. */
  readonly before: unknown;
  readonly after: unknown;
  readonly isNeeded: boolean;
  /** Null: the file goes, for it would hold nothing else. */
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
  return {
    file,
    path,
    before,
    after,
    isNeeded: !isDeepStrictEqual(plain(before), plain(after)),
    text:
      client.format === "json"
        ? setJsonEntry(text, path, after)
        : setTomlEntry(text, path, after, file),
  };
}

export function planRemoval(client: McpClient, file: string, place: UserPlace): ClientChange {
  const { text, path, before } = look(client, file, place);
  if (before === undefined) return { file, path, before, after: before, isNeeded: false, text };
  const rest =
    client.format === "json" ? removeJsonEntry(text, path) : removeTomlEntry(text, path, file);
  return { file, path, before, after: undefined, isNeeded: true, text: rest ?? null };
}

/** All of it or nothing: another program may read the file at any moment. */
export function carryOut({ file, text }: ClientChange): void {
  if (text === null) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  // What is linked stays linked.
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
  const present = client.format === "json" ? readJsonObject(text, file) : readTomlTable(text, file);
  const path = client.path(present, place);
  return { text, path, before: entryAt(present, path) };
}
