const protocols: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);
const longest = 2000;

/**
 * The address that a person may follow from an agent's text, as the browser reads it; null: it is only
 * shown. A name before `@` makes one host look like another, so such an address is none.
 * @example safeLink("HTTPS://Example.com") // "https://example.com/"
 */
export function safeLink(address: string): string | null {
  if (address.length > longest || !/^(?:https?:\/\/|mailto:)/i.test(address)) return null;
  const url = URL.parse(address);
  if (url === null || !protocols.has(url.protocol)) return null;
  return url.username === "" && url.password === "" ? url.href : null;
}

/** The text of a link says where it leads. */
export function saysAddress(text: string, href: string): boolean {
  const plain = (address: string) =>
    address
      .trim()
      .replace(/^mailto:/i, "")
      .replace(/\/$/, "");
  return plain(text) === plain(href);
}
