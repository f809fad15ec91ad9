/** The sentence for what a server asks of those who come too often; empty when it asks nothing. */
export function describeRetryAfter(header: string | undefined, now: number): string {
  if (header === undefined) return "";
  const text = header.trim();
  const seconds = /^\d{1,9}$/.test(text)
    ? Number(text)
    : Math.ceil((Date.parse(text) - now) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  return `The server asks to wait ${seconds} s before the next request.`;
}
