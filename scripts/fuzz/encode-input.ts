/** Inputs as JSON: bytes are told by a key of their own, and so is what JSON has no word for. */
const bytesKey = "$bytes";
const wordKey = "$word";
const words: readonly unknown[] = [undefined, Number.NaN, 1 / 0, -1 / 0, -0];

export function encodeInput(input: unknown): unknown {
  const word = words.findIndex((each) => Object.is(each, input));
  if (word !== -1) return { [wordKey]: word };
  if (input instanceof Uint8Array) return { [bytesKey]: Buffer.from(input).toString("base64") };
  if (Array.isArray(input)) return input.map(encodeInput);
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).map(([key, each]) => [key, encodeInput(each)]));
}

export function decodeInput(stored: unknown): unknown {
  if (Array.isArray(stored)) return stored.map(decodeInput);
  if (typeof stored !== "object" || stored === null) return stored;
  const { [bytesKey]: bytes, [wordKey]: word } = stored as Record<string, unknown>;
  if (typeof bytes === "string") return Buffer.from(bytes, "base64");
  if (typeof word === "number") return words[word];
  return Object.fromEntries(Object.entries(stored).map(([key, each]) => [key, decodeInput(each)]));
}
