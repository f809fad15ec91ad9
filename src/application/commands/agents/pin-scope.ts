import { type PinScope, pinScopes } from "../../../control/records/pins.ts";
import { quote } from "../../../control/records/shown-text.ts";
import type { UsageProblem } from "../command.ts";

export const scopeForm = `[${pinScopes.map((scope) => `--${scope}`).join("|")}]`;

/** The words of a line without its one scope; the session's own when none is named. */
export function parseScope(
  rest: string,
): { readonly scope: PinScope; readonly words: readonly string[] } | UsageProblem {
  const tokens = rest.split(/[ \t]+/).filter((token) => token !== "");
  const words = tokens.filter((token) => !token.startsWith("--"));
  const [flag, second] = tokens.filter((token) => token.startsWith("--"));
  if (second !== undefined) return { problem: "It takes one scope." };
  const scope = flag === undefined ? "session" : pinScopes.find((each) => flag === `--${each}`);
  if (scope !== undefined) return { scope, words };
  const known = pinScopes.map((each) => `--${each}`).join(", ");
  return { problem: `There is no scope ${quote(flag ?? "")}. There are: ${known}.` };
}
