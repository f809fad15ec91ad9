import { isRecord } from "../../ports/parse-json.ts";

const maximumDepth = 40;

/**
 * Data of any parser as what our own files can hold: text that is well formed, numbers that are
 * exact, no key that reaches a prototype. Undefined where a key forbids to keep it at all.
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

/** Without what no file of ours can hold: halves of characters, NUL, other line ends. */
export function toPlainText(text: string): string {
  const whole = text.toWellFormed().replaceAll("\0", "");
  return whole.includes("\r") ? whole.replaceAll(/\r\n?/g, "\n") : whole;
}

/** The entries of a map; none of whatever is no map. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
