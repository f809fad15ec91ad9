import { MandateError } from "../ports/mandate-error.ts";
import { mergeLayers } from "./merge-layers.ts";
import { parseProfileDocument } from "./parse-profile-document.ts";
import type { ProfileLayer } from "./profile-layer.ts";

/**
 * Judges what a program gives as a profile by the rules for files: a limit with a typo is refused,
 * and so is a profile that could not be used. Nobody else would see it in JavaScript.
 */
export function requireProfile({ fields, name, origin }: ProfileLayer): void {
  const file = `The profile ${JSON.stringify(name) ?? "without a name"}`;
  if (typeof name !== "string") {
    throw new MandateError("profile-invalid", `${file} of this program: give it a name.`);
  }
  try {
    parseProfileDocument({ value: { ...fields, name }, lineOf: () => 1 }, file);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    throw new MandateError("profile-invalid", error.message.replaceAll(`${file}:1:`, `${file}:`));
  }
  mergeLayers([{ name, fields, origin }]);
}
