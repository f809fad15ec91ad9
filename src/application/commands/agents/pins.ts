import type { ListedPin } from "../../../control/records/pins.ts";
import { defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";

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
    return { reply: [head, ...pins.map(lineOf)].join("\n"), data: { effective, problem, pins } };
  },
});

function lineOf({ problem, profileId, scope, source }: ListedPin): string {
  const line = `- ${scope}: ${profileId ?? "?"} (${source})`;
  return problem === null ? line : `${line}\n  broken: ${problem}`;
}
