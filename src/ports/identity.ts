import { MandateError } from "./mandate-error.ts";

/**
 * Ids are scrambled numbers: a store counts, and a fixed permutation makes six hex digits of each number
 * (eight from the seventeen-millionth on). So ids are unique, short enough to type, and need no index,
 * because the number can be computed from the id.
 */
const narrow = scramble(6, 0x9e3779, 0x5bd1e5);
const wide = scramble(8, 0x9e3779b1, 0x2545f491);

function scramble(digits: number, factor: number, offset: number) {
  return { digits, size: 16 ** digits, factor, offset, inverse: inverse(factor) };
}

export function hexOf(number: number): string {
  const form = number < narrow.size ? narrow : wide;
  if (number >= wide.size) throw noId(number);
  const scrambled = modulo(Math.imul(number, form.factor) + form.offset, form.size);
  return scrambled.toString(16).padStart(form.digits, "0");
}

function noId(number: number): MandateError {
  const message = `There is no id for the number ${number}: the store has used all ids, or the database was changed.`;
  return new MandateError("database-unusable", message);
}

/** The number of an id; undefined: the text is not an id. */
export function numberOf(id: string): number | undefined {
  const form = id.length === narrow.digits ? narrow : id.length === wide.digits ? wide : undefined;
  if (form === undefined) return undefined;
  const scrambled = Number(`0x${id}`);
  if (!Number.isInteger(scrambled)) return undefined;
  const number = modulo(Math.imul(scrambled - form.offset, form.inverse), form.size);
  // Only the exact spelling counts: no upper case, and no long form of a short number.
  return hexOf(number) === id ? number : undefined;
}

const runPrefix = "r";
const askPrefix = "q";
const memoryPrefix = "m";

export const runIdOf = (number: number): string => runPrefix + hexOf(number);
export const askIdOf = (number: number): string => askPrefix + hexOf(number);
/** Memories have a counter of their own. */
export const memoryIdOf = (number: number): string => memoryPrefix + hexOf(number);

/**
 * The id of the control log, which is read like a run but is not one. Stores count from one, so no run
 * has this number.
 */
export const controlRunId = runIdOf(0);

export function runNumberOf(id: string): number | undefined {
  return id.startsWith(runPrefix) ? numberOf(id.slice(1)) : undefined;
}

export function askNumberOf(id: string): number | undefined {
  return id.startsWith(askPrefix) ? numberOf(id.slice(1)) : undefined;
}

export function memoryNumberOf(id: string): number | undefined {
  return id.startsWith(memoryPrefix) ? numberOf(id.slice(1)) : undefined;
}

/**
 * The random first number of a new store, in the first half of the short ids: two homes may leave reports
 * and commits in the same repository, and should not use the same ids.
 */
export function firstNumber(): number {
  // The global `crypto` is used, because the dashboard imports this file as well.
  const [drawn = 0] = crypto.getRandomValues(new Uint32Array(1));
  return 1 + (drawn % (narrow.size / 2));
}

function modulo(value: number, size: number): number {
  return ((value % size) + size) % size;
}

/** Multiplicative inverse of an odd number modulo 2^32 (and so modulo every smaller power). */
function inverse(factor: number): number {
  let result = factor;
  for (let step = 0; step < 5; step++) {
    result = Math.imul(result, 2 - Math.imul(factor, result));
  }
  return result;
}
