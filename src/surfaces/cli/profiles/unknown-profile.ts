import { nearestKey } from "../../../agents/documents/nearest-key.ts";
import { MandateError } from "../../../ports/mandate-error.ts";

/** A name that nobody has: the nearest one, and all that there are. */
export function unknownProfile(name: string, known: readonly string[]): MandateError {
  const nearest = nearestKey(name, known);
  const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
  return new MandateError(
    "unknown-profile",
    `There is no profile ${JSON.stringify(name)}.${hint} There are: ${known.join(", ")}.`,
  );
}
