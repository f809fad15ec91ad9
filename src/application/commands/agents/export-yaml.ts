import { defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";

export const exportYaml = defineCommand({
  name: "agents export-yaml",
  form: "",
  about: "Prints the registry as YAML that apply-yaml takes; for operators, profiles and pins too.",
  parse: parseNothing,
  async execute(_given, { controlPlane }, principal) {
    const document = await controlPlane.exportDocument(principal);
    const { stringify } = await import("yaml");
    // Without anchors, and without lines broken where people did not break them.
    return {
      reply: stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 }),
      data: document,
    };
  },
});
