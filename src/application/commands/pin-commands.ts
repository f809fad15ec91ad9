/** The `/agents` commands about pins: which profile is the default of a session, user or workspace. */
import { type ListedPin, type PinScope, pinScopes } from "../../control/records/pins.ts";
import { quote } from "../../control/records/shown-text.ts";
import { defineCommand, type UsageProblem } from "./command.ts";
import { handleProblem, isProblem, parseNothing } from "./parse-arguments.ts";

const scopeForm = `[${pinScopes.map((scope) => `--${scope}`).join("|")}]`;

/** The words of a line without its one scope; the session's own when none is named. */
function parseScope(
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

export const pinAgent = defineCommand<{ readonly agentId: string; readonly scope: PinScope }>({
  name: "agents pin",
  form: `@agent ${scopeForm}`,
  about: "Makes the profile of an agent the default of a scope; without one, of the session.",
  completes: ["handle"],
  parse(rest) {
    const parsed = parseScope(rest);
    if (isProblem(parsed)) return parsed;
    const [agentId = "", ...more] = parsed.words;
    if (more.length > 0) return { problem: "It takes one agent." };
    return handleProblem(agentId) ?? { agentId, scope: parsed.scope };
  },
  async execute({ agentId, scope }, { controlPlane, pinContext }, principal) {
    const pin = await controlPlane.pinAgent(scope, agentId, pinContext, principal);
    const reply = `Pinned ${agentId} (${pin.profileId}) for ${scope} scope.`;
    return { reply, data: { agentId, ...pin } };
  },
});

export const unpinAgent = defineCommand<{ readonly scope: PinScope }>({
  name: "agents unpin",
  form: scopeForm,
  about: "Removes the pin of a scope; without one, of the session.",
  parse(rest) {
    const parsed = parseScope(rest);
    if (isProblem(parsed)) return parsed;
    const { scope, words } = parsed;
    return words.length > 0 ? { problem: "It takes a scope alone." } : { scope };
  },
  async execute({ scope }, { controlPlane, pinContext }, principal) {
    const removed = await controlPlane.unpin(scope, pinContext, principal);
    const reply = removed ? `Removed pin for ${scope} scope.` : `No pin for ${scope} scope.`;
    return { reply, data: { scope, removed } };
  },
});

export const showPins = defineCommand({
  name: "agents pins",
  form: "",
  about: "Shows which profile is pinned here, and where the pin comes from.",
  parse: parseNothing,
  async execute(_given, { controlPlane, pinContext }) {
    const pins = await controlPlane.pins(pinContext);
    const [first] = pins;
    if (first === undefined) {
      const data = { effective: null, problem: null, pins };
      return { reply: "No pinned profile is currently active.", data };
    }
    const { problem, profileId, scope, source } = first;
    const effective = problem === null ? { scope, profileId, source } : null;
    const head =
      effective === null
        ? `The ${scope} pin decides here, and cannot be used.`
        : `Effective pin: ${profileId} (${scope} scope).`;
    return { reply: [head, ...pins.map(pinLine)].join("\n"), data: { effective, problem, pins } };
  },
});

function pinLine({ problem, profileId, scope, source }: ListedPin): string {
  const line = `- ${scope}: ${profileId ?? "?"} (${source})`;
  return problem === null ? line : `${line}\n  broken: ${problem}`;
}
