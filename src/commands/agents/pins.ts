import { defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";

export const showPins = defineCommand({
  name: "agents pins",
  form: "",
  about: "Shows which profile is pinned here, and where the pin comes from.",
  parse: parseNothing,
  async execute(_given, { controlPlane, pinContext }) {
    const effective = await controlPlane.effectivePin(pinContext);
    const pins = await controlPlane.pins(pinContext);
    const data = { effective: effective ?? null, pins };
    if (effective === undefined) {
      return { reply: "No pinned profile is currently active.", data };
    }
    const lines = pins.map(
      ({ scope, profileId, source }) => `- ${scope}: ${profileId} (${source})`,
    );
    const head = `Effective pin: ${effective.profileId} (${effective.scope} scope).`;
    return { reply: [head, ...lines].join("\n"), data };
  },
});
