import fc, { type Arbitrary } from "fast-check";
import { nastyPieces } from "./hostile-text.ts";

type Edit = (bytes: Buffer) => Buffer;

const place = fc.double({ min: 0, max: 1, noNaN: true });

/** Seeds with a few things done to them: what an editor, a disk or an enemy does to a file. */
export function mutated(
  seeds: readonly (string | Uint8Array)[],
  words: readonly string[] = [],
): Arbitrary<Buffer> {
  const pieces = [...nastyPieces, ...words];
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(edits(pieces), { maxLength: 5 }))
    .map(([seed, changes]) =>
      changes.reduce<Buffer>((bytes, change) => change(bytes), Buffer.from(seed)),
    );
}

export function mutatedText(
  seeds: readonly string[],
  words: readonly string[] = [],
): Arbitrary<string> {
  return mutated(seeds, words).map((bytes) => bytes.toString("utf8"));
}

function edits(pieces: readonly string[]): Arbitrary<Edit> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(place, fc.constantFrom(...pieces)).map(insertion) },
    { weight: 3, arbitrary: fc.tuple(place, place).map(removal) },
    { weight: 2, arbitrary: fc.tuple(place, fc.nat(255)).map(overwriting) },
    { weight: 2, arbitrary: fc.tuple(place, place, place).map(copying) },
    { weight: 2, arbitrary: fc.tuple(place, place).map(swapping) },
    { weight: 1, arbitrary: place.map(cutting) },
    { weight: 1, arbitrary: fc.tuple(place, place, fc.nat(5000)).map(repeating) },
  );
}

const at = (part: number, bytes: Buffer): number => Math.floor(part * bytes.length);

function splice(bytes: Buffer, from: number, to: number, piece: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, from), piece, bytes.subarray(to)]);
}

function insertion([where, piece]: [number, string]): Edit {
  return (bytes) => splice(bytes, at(where, bytes), at(where, bytes), Buffer.from(piece));
}

function removal([where, length]: [number, number]): Edit {
  return (bytes) => {
    const from = at(where, bytes);
    return splice(bytes, from, from + 1 + Math.floor(length * length * 40), Buffer.alloc(0));
  };
}

function overwriting([where, value]: [number, number]): Edit {
  return (bytes) => splice(bytes, at(where, bytes), at(where, bytes) + 1, Buffer.of(value));
}

/** A part of it once more, somewhere else: keys that are there twice, lines in another block. */
function copying([from, length, to]: [number, number, number]): Edit {
  return (bytes) => {
    const start = at(from, bytes);
    const part = bytes.subarray(start, start + 1 + Math.floor(length * 60));
    return splice(bytes, at(to, bytes), at(to, bytes), part);
  };
}

/** Two lines change places. */
function swapping([one, other]: [number, number]): Edit {
  return (bytes) => {
    const lines = bytes.toString("latin1").split("\n");
    const [first, second] = [one, other].map((part) => Math.floor(part * lines.length));
    const [left, right] = [lines[first ?? 0] ?? "", lines[second ?? 0] ?? ""];
    lines[first ?? 0] = right;
    lines[second ?? 0] = left;
    return Buffer.from(lines.join("\n"), "latin1");
  };
}

function cutting(where: number): Edit {
  return (bytes) => bytes.subarray(0, at(where, bytes));
}

/** A part of it very often: what counts anew for each of many things takes minutes then. */
function repeating([where, length, times]: [number, number, number]): Edit {
  return (bytes) => {
    const from = at(where, bytes);
    const part = bytes.subarray(from, from + 1 + Math.floor(length * 40));
    const most = Math.floor(longest / Math.max(1, part.length));
    const parts = Array.from({ length: Math.min(times, most) }, () => part);
    return splice(bytes, from, from, Buffer.concat(parts));
  };
}

const longest = 100_000;
