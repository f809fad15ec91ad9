import { MandateError } from "../../../ports/mandate-error.ts";

const variable = "MANDATE_PAGE_KEY";
const keyBytes = 32;

/**
 * What servers behind one address seal the sessions of pages with; undefined where none was given,
 * and then each process takes a key of its own. What is given and is no key is refused: a server
 * that took another one would seem to work, and sign everybody out at every second request.
 */
export function readPageKey(
  environment: Readonly<Record<string, string | undefined>>,
): Buffer | undefined {
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return undefined;
  const key = Buffer.from(text, "base64");
  // Decoding skips what is no base64: only what it would be written as is meant.
  const isExact = key.toString("base64") === text;
  if (isExact && key.length === keyBytes) return key;
  const what = isExact ? `It has ${key.length} bytes.` : "It is not base64.";
  throw new MandateError(
    "config-invalid",
    `${variable} takes ${keyBytes} random bytes in base64. ${what} Make one with: openssl rand -base64 32`,
  );
}
