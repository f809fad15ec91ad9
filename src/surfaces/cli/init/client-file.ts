import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { readRegularFile } from "../../../agents/documents/read-text-file.ts";
import { findPlaces } from "../../../control/places.ts";
import { writeDurablySync } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { messageOf } from "../../../ports/message-of.ts";
import { applied, entryAt, insertJson, plain, readJsonObject, removeJson } from "./edit-json.ts";
import { insertToml, readTomlTable, removeToml, tomlOf } from "./edit-toml.ts";
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
  /** What the change was planned on. */
  readonly original: string;
  /** Null: the file is removed, because init made it and nothing else is in it. */
  readonly text: string | null;
  /** What a later removal needs; null: this is one. */
  readonly note: Note | null;
}

/**
 * What init did to a file, kept in our own folder: with it a removal restores exactly what was there.
 * A file that was edited since is not restored: the entry is removed, and what init made around it.
 */
const noteShape = z.object({
  /** The hash of the whole text with the entry. */
  hash: z.string(),
  /** The edit that restores the text before. */
  undo: z.object({ start: z.number(), end: z.number(), text: z.string() }),
  /** How many objects on the path of the entry were there before. */
  depth: z.number(),
  /** The file and the folders that init made, the outermost folder first. */
  isNewFile: z.boolean(),
  folders: z.array(z.string()),
});
const notesShape = z.record(z.string(), noteShape);
type Note = z.infer<typeof noteShape>;

export function planEntry(
  client: McpClient,
  file: string,
  launch: Launch,
  place: UserPlace,
): ClientChange {
  const { text, path, before } = look(client, file, place);
  const after = client.entry(launch);
  const isNeeded = !isDeepStrictEqual(plain(before), plain(after));
  // A note about an entry that is not there any more says nothing about the file as it is.
  const note = before === undefined ? undefined : readNotes(place)[file];
  const base = before === undefined ? text : withoutEntry(client, { file, path, text }, note);
  const rest = base ?? "";
  // A byte order mark stays in front.
  const mark = rest.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = rest.slice(mark.length);
  const { depth, ...edit } =
    client.format === "json" ? insertJson(body, path, after) : insertToml(body, path, after, file);
  const next = `${mark}${applied(body, edit)}`;
  requireEntry(client, next, path, after, file);
  const start = edit.start + mark.length;
  const undo = {
    start,
    end: start + edit.text.length,
    text: body.slice(edit.start, edit.end),
  };
  const isNewFile = note?.isNewFile === true || !existsSync(file);
  const folders = note?.folders ?? [];
  const written = { hash: hashOf(next), undo, depth, isNewFile, folders };
  return { file, path, before, after, isNeeded, original: text, text: next, note: written };
}

export function planRemoval(client: McpClient, file: string, place: UserPlace): ClientChange {
  const { text, path, before } = look(client, file, place);
  const isNeeded = before !== undefined;
  const change = { file, path, before, after: undefined, isNeeded, original: text };
  if (before === undefined) return { ...change, text, note: null };
  const rest = withoutEntry(client, { file, path, text }, readNotes(place)[file]);
  requireEntry(client, rest ?? "", path, undefined, file);
  return { ...change, text: rest, note: null };
}

/** Null: nothing else is in a file that init made. */
function withoutEntry(
  client: McpClient,
  {
    file,
    path,
    text,
  }: { readonly file: string; readonly path: readonly string[]; readonly text: string },
  note: Note | undefined,
): string | null {
  if (note?.hash === hashOf(text)) {
    const restored = applied(text, note.undo);
    return note.isNewFile && restored === "" ? null : restored;
  }
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  const rest =
    client.format === "json"
      ? removeJson(body, path, note?.depth ?? path.length)
      : removeToml(body, path, file);
  const isEmpty = ["", "{}"].includes(rest.replaceAll(/\s/g, ""));
  return note?.isNewFile && isEmpty ? null : `${mark}${rest}`;
}

/**
 * Replaces the file in one step: another program may read it at any moment. A client may also have
 * written its file while the person was asked, and that is kept.
 */
export function carryOut({ file, original, text, note }: ClientChange, place: UserPlace): void {
  if (textOf(file) !== original) {
    const sentence = `${file} was changed while you were asked. Nothing was written; run the command again.`;
    throw new MandateError("conflict", sentence);
  }
  const { [file]: earlier, ...others } = readNotes(place);
  let made: readonly string[] = [];
  if (text === null) {
    rmSync(file, { force: true });
    for (const folder of earlier?.folders.toReversed() ?? []) removeIfEmpty(folder);
  } else {
    made = makeFolders(dirname(file));
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
  if (note === null && earlier === undefined) return;
  const folders = [...(note?.folders ?? []), ...made];
  const notes = note === null ? others : { ...others, [file]: { ...note, folders } };
  writeDurablySync(notesFile(place), `${JSON.stringify(notes, null, 2)}\n`);
}

/** The entry as the file has it. */
export function shownEntry(client: McpClient, path: readonly string[], entry: unknown): string {
  return client.format === "json" ? JSON.stringify(entry, null, 2) : tomlOf(path, entry).trimEnd();
}

export function hasEntry(client: McpClient, file: string, place: UserPlace): boolean {
  return existsSync(file) && look(client, file, place).before !== undefined;
}

/** The folders that were missing, the outermost one first. */
function makeFolders(folder: string): readonly string[] {
  const first = mkdirSync(folder, { recursive: true });
  const made: string[] = [];
  for (let each = folder; first !== undefined && each.length >= first.length; each = dirname(each))
    made.unshift(each);
  return made;
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something is in it, or it is gone.
  }
}

function notesFile({ environment }: UserPlace): string {
  return join(findPlaces(environment).home, "clients.json");
}

/** Notes that cannot be read are as good as none: a removal then takes the entry alone. */
function readNotes(place: UserPlace): z.infer<typeof notesShape> {
  try {
    return notesShape.parse(JSON.parse(readFileSync(notesFile(place), "utf8")));
  } catch {
    return {};
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
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
  const body = text.replace(/^\uFEFF/, "");
  return client.format === "json" ? readJsonObject(body, file) : readTomlTable(body, file);
}

function look(
  client: McpClient,
  file: string,
  place: UserPlace,
): { readonly text: string; readonly path: readonly string[]; readonly before: unknown } {
  const text = textOf(file);
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

/** Byte for byte; no file is an empty text. */
function textOf(file: string): string {
  if (!existsSync(file)) {
    requireRoom(file);
    return "";
  }
  try {
    const bytes = readRegularFile(realpathSync(file), maximumBytes);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const sentence = `${file}: ${messageOf(cause)}. Nothing was changed.`;
    throw new MandateError("config-invalid", sentence, { cause });
  }
}

/** On the way to a missing file there may be a link to nothing, or a file in place of a folder. */
function requireRoom(file: string): void {
  let nearest = file;
  while (!isThere(nearest)) nearest = dirname(nearest);
  if (existsSync(nearest) && statSync(nearest).isDirectory()) return;
  const what = existsSync(nearest) ? "is not a folder" : "is a link to nothing";
  const sentence = `${nearest} ${what}. Remove it first; nothing was changed.`;
  throw new MandateError("config-invalid", sentence);
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path) !== undefined;
  } catch {
    return false;
  }
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
