import { HttpProblem } from "./problem.ts";

const longestTarget = 2048;

/**
 * Refuses ambiguous request targets: a proxy, a router and a URL parser must all read the same
 * path. Checks the raw target, before anything normalizes it.
 */
export function checkTarget(target: string): void {
  if (target.length > longestTarget) {
    throw new HttpProblem(
      "uri-too-long",
      `A request target has at most ${longestTarget} characters.`,
    );
  }
  const fault = findFault(target);
  if (fault !== undefined) throw new HttpProblem("request-invalid", `The request target ${fault}.`);
}

function findFault(target: string): string | undefined {
  if (!target.startsWith("/")) return "must begin with a slash";
  if (!/^[!$-;=?-Z_a-z~[\]]*$/.test(target))
    return "contains a character that must be percent-encoded";
  const [path = "", ...query] = target.split("?");
  if (path.includes("//")) return "has an empty segment";
  for (const segment of path.split("/")) {
    if (segment === "." || segment === "..") return "has a dot segment";
    const fault = findEncodingFault(segment);
    if (fault !== undefined) return fault;
  }
  return isDecodable(query.join("?")) ? undefined : "contains an encoding that is not UTF-8";
}

/** Each path has one spelling: unreserved characters are not encoded, and separators never are. */
function findEncodingFault(segment: string): string | undefined {
  if (!segment.includes("%")) return undefined;
  if (!isDecodable(segment)) return "contains an encoding that is not UTF-8";
  for (const [encoded] of segment.matchAll(/%[0-9a-f]{2}/gi)) {
    const code = Number.parseInt(encoded.slice(1), 16);
    const character = String.fromCharCode(code);
    if (code < 0x20 || code === 0x7f) return "contains a control character";
    if (character === "/" || character === "\\") return "contains an encoded slash";
    if (/[\w.~-]/.test(character)) return `encodes "${character}", which needs no encoding`;
  }
  return undefined;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Headers that must not be repeated: another program might have read the other value. */
const single: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "sec-fetch-site",
  "transfer-encoding",
]);

/** `rawHeaders` as Node has them: name, value, name, value. */
export function checkHeaders(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    if (!single.has(name)) continue;
    if (seen.has(name)) {
      throw new HttpProblem("request-invalid", `The header "${name}" is given twice.`);
    }
    seen.add(name);
  }
}
