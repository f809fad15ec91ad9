import { isRecord } from "../../ports/parse-json.ts";

const maximumDepth = 40;

/**
 * Converts parsed data to what our own files can hold: well-formed text, exact numbers, no
 * `__proto__`.
 */
export function toPlainData(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return toPlainText(value);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") {
    const isExact = Number.isFinite(value) && (Number.isSafeInteger(value) || value % 1 !== 0);
    return isExact ? value + 0 : String(value);
  }
  if (typeof value !== "object") return String(value);
  if (value instanceof Date) return toPlainText(String(value));
  if (depth > maximumDepth) return "…";
  if (Array.isArray(value)) return value.map((item) => toPlainData(item, depth + 1));
  const plain: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === "__proto__" || key === "<<") continue;
    plain[toPlainText(key)] = toPlainData(inner, depth + 1);
  }
  return plain;
}

/** Removes what our files cannot hold: lone surrogates, NUL, carriage returns. */
export function toPlainText(text: string): string {
  const whole = text.toWellFormed().replaceAll("\0", "");
  return whole.includes("\r") ? whole.replaceAll(/\r\n?/g, "\n") : whole;
}

/** The value if it is a map, else an empty map. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
