/**
 * How long a provider asks us to wait, in milliseconds: `retry-after-ms`, or `retry-after` as seconds
 * or as a date. Undefined when it did not say, or said nothing that can be understood.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, unknown>>,
  now: number,
): number | undefined {
  const milliseconds = asNumber(header(headers, "retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const value = header(headers, "retry-after");
  const seconds = asNumber(value);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = value === undefined || /^[-+\d.]/.test(value) ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The same as Google says it: in the body of its complaint. */
export function readRetryDelay(text: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d+)?)s"/.exec(text)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

function header(headers: Readonly<Record<string, unknown>>, wanted: string): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === wanted && typeof value === "string") return value.trim();
  }
  return undefined;
}

function asNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}
