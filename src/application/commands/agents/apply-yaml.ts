import { requireRole } from "../../../control/records/principal.ts";
import { defineCommand } from "../command.ts";

/** Everything after the first white space is the document: its lines and blanks are its own. */
export const applyYaml = defineCommand<{ readonly text: string }>({
  name: "agents apply-yaml",
  form: "<YAML>",
  about: "Makes the control plane what a document says, as a whole or not at all.",
  takesRawText: true,
  parse: (text) => ({ text }),
  async execute({ text }, { controlPlane }, principal) {
    // Before the work of reading it, and whatever is wrong with it.
    requireRole("apply", principal);
    const { parseYaml } = await import("../../../agents/documents/read-yaml.ts");
    const { value } = parseYaml(text, "apply-yaml");
    // As JSON text: a document that is one piece of text is not to be read once more.
    const applied = await controlPlane.apply(JSON.stringify(value), principal);
    const { agents, profiles, pins } = applied;
    const reply = `Applied: agents ${agents}, profiles ${profiles}, pins ${pins}.`;
    return { reply, data: applied };
  },
});
