import { inflateRawSync } from "node:zlib";
import { DocumentProblem } from "./document-request.ts";

const endOfDirectory = 0x06054b50;
const directoryEntry = 0x02014b50;
const localEntry = 0x04034b50;
const mostEntries = 4000;
const mostBytes = 64 * 1024 * 1024;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly flags: number;
  readonly packed: number;
  readonly unpacked: number;
  readonly offset: number;
}

/**
 * Refuses an archive before anything unpacks it: by what its directory claims, and then by what is
 * really in it, since a directory can claim anything. Returns the names inside.
 */
export function checkZip(archive: Buffer): readonly string[] {
  const entries = readDirectory(archive);
  let total = 0;
  for (const { unpacked } of entries) total += unpacked;
  if (total > mostBytes) throw tooLarge();
  for (const entry of entries) checkEntry(archive, entry);
  return entries.map(({ name }) => name);
}

function readDirectory(archive: Buffer): readonly Entry[] {
  const end = findEnd(archive);
  const count = archive.readUInt16LE(end + 10);
  const start = archive.readUInt32LE(end + 16);
  // All ones stand for a value kept elsewhere, which only archives beyond our sizes need.
  if (count === 0xffff || start === 0xffff_ffff || count > mostEntries) throw tooLarge();
  const entries: Entry[] = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== directoryEntry) throw broken();
    const nameLength = archive.readUInt16LE(at + 28);
    entries.push({
      name: archive.toString("utf8", at + 46, at + 46 + nameLength),
      flags: archive.readUInt16LE(at + 8),
      method: archive.readUInt16LE(at + 10),
      packed: archive.readUInt32LE(at + 20),
      unpacked: archive.readUInt32LE(at + 24),
      offset: archive.readUInt32LE(at + 42),
    });
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return entries;
}

/** The end record of an archive is at the very end, unless a comment of at most 64 KB follows. */
function findEnd(archive: Buffer): number {
  const last = archive.length - 22;
  for (let at = last; at >= Math.max(0, last - 0xffff); at--) {
    if (archive.readUInt32LE(at) === endOfDirectory) return at;
  }
  throw broken();
}

function checkEntry(archive: Buffer, entry: Entry): void {
  if ((entry.flags & 1) === 1) {
    throw new DocumentProblem("The document is encrypted, so it cannot be read.");
  }
  const { offset, packed, unpacked } = entry;
  if (offset + 30 > archive.length || archive.readUInt32LE(offset) !== localEntry) throw broken();
  const start = offset + 30 + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28);
  if (start + packed > archive.length) throw broken();
  if (entry.method === 0) {
    if (packed !== unpacked) throw broken();
    return;
  }
  if (entry.method !== 8) throw broken();
  const body = archive.subarray(start, start + packed);
  // One byte beyond the claim is enough to know that the claim was false.
  const actual = inflate(body, unpacked + 1);
  if (actual !== unpacked) throw broken();
}

function inflate(body: Buffer, maxOutputLength: number): number {
  try {
    return inflateRawSync(body, { maxOutputLength }).length;
  } catch (error) {
    throw broken(error);
  }
}

function tooLarge(): DocumentProblem {
  return new DocumentProblem(
    `The document unpacks to more than ${mostBytes / 1024 / 1024} MB, so it is not opened.`,
  );
}

function broken(cause?: unknown): DocumentProblem {
  return new DocumentProblem(
    "The document is a damaged archive: its directory and its content do not agree.",
    { cause },
  );
}
