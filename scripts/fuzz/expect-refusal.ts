import assert from "node:assert/strict";
import { MandateError } from "../../src/ports/mandate-error.ts";

export type Attempt<Value> = { readonly value: Value } | { readonly refusal: MandateError };

/**
 * Does something that may be refused: gives what came of it, or the refusal. Anything else that is
 * thrown is a crash, and so is a refusal that does not say `names`: a file, a field, a place.
 */
export async function attempt<Value>(
  act: () => Value | Promise<Value>,
  names: string | RegExp = /./,
): Promise<Attempt<Value>> {
  try {
    return { value: await act() };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    const says =
      typeof names === "string" ? error.message.includes(names) : names.test(error.message);
    assert.ok(says, `the refusal does not name ${names}: ${error.message}`);
    assert.ok(error.message.length < 20_000, "the refusal is longer than anybody reads");
    return { refusal: error };
  }
}

/** Nothing but text that a terminal or a log shows as it is, apart from lines and tabs. */
export function assertShown(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const found = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.exec(text);
  assert.equal(found, null, `a control character is shown: ${JSON.stringify(text.slice(0, 300))}`);
}
