import { HttpProblem } from "./problem.ts";

const longestTarget = 2048;

/**
 * Refuses a request target that could be read in more than one way: what one reader takes for one
 * path, a proxy, a router or a URL parser must not take for another. Works on what came over the
 * wire, before anything normalizes it.
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
  if (!target.startsWith("/")) return "has to begin with a slash";
  if (!/^[!$-;=?-Z_a-z~[\]]*$/.test(target)) return "holds a character that has to be encoded";
  const [path = "", ...query] = target.split("?");
  if (path.includes("//")) return "has an empty segment";
  for (const segment of path.split("/")) {
    if (segment === "." || segment === "..") return "has a dot segment";
    const fault = findEncodingFault(segment);
    if (fault !== undefined) return fault;
  }
  return isDecodable(query.join("?")) ? undefined : "holds an encoding that is no UTF-8";
}

/** One spelling for each: what needs no encoding has none, and no encoding makes up a separator. */
function findEncodingFault(segment: string): string | undefined {
  if (!segment.includes("%")) return undefined;
  if (!isDecodable(segment)) return "holds an encoding that is no UTF-8";
  for (const [encoded] of segment.matchAll(/%[0-9a-f]{2}/gi)) {
    const code = Number.parseInt(encoded.slice(1), 16);
    const character = String.fromCharCode(code);
    if (code < 0x20 || code === 0x7f) return "holds a control character";
    if (character === "/" || character === "\\") return "holds an encoded slash";
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

/** Headers of which there is one, or it is open which of them somebody else went by. */
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
      throw new HttpProblem("request-invalid", `The header "${name}" is there twice.`);
    }
    seen.add(name);
  }
}
