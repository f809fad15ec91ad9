import { FetchFailure } from "./fetch-failure.ts";
import { readAddress } from "./read-address.ts";

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where a reply sends its reader, read as strictly as the first address; undefined: nowhere. */
export function followRedirect(
  from: URL,
  status: number,
  location: string | undefined,
): URL | undefined {
  if (!redirects.has(status) || location === undefined) return undefined;
  // Servers send the bytes of UTF-8 where the protocol has room for other letters only.
  const text = Buffer.from(location.trim(), "latin1").toString("utf8");
  const next = readAddress(text.includes("\ufffd") ? location.trim() : text, from);
  if (from.protocol === "https:" && next.protocol === "http:") {
    throw new FetchFailure(
      `${from.host} redirects from https to http (${next.host}), which is not followed: what ` +
        "comes back could be anybody's.",
    );
  }
  return next;
}
