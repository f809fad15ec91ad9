import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { replaceFile, requireReplaceable } from "../../workspaces/replace-file.ts";
import { defineTool } from "../tool.ts";
import { describeFileError, pathAbout, requireWorkspace } from "./file-call.ts";

export const writeFile = defineTool({
  name: "write_file",
  description:
    "Create a file in the workspace, or replace all of its content. Missing folders are created. " +
    "The file has the new content or the old one, never a part.",
  effect: "write",
  exposure: noExposure,
  // The same call again leaves the same file behind.
  idempotent: true,
  scopes: ["files:write"],
  changes: "reported",
  input: z.strictObject({
    path: z.string().min(1).max(4096).describe("Relative to the workspace's root."),
    content: z
      .string()
      .max(1_000_000)
      // Written as UTF-8 they would silently become another character.
      .refine((text) => text.isWellFormed(), "must not contain half of a surrogate pair")
      .describe("The whole new content."),
  }),
  preflight({ path }, context) {
    requireReplaceable(requireWorkspace(context), path);
  },
  about: ({ path }, context) => pathAbout(path, context),
  async execute({ path, content }, context) {
    const workspace = requireWorkspace(context);
    const bytes = Buffer.from(content);
    try {
      const file = await replaceFile(workspace, path, bytes, { signal: context.signal });
      return { text: describeChange(file, bytes.length), files: [file] };
    } catch (error) {
      return describeFileError(error, path);
    }
  },
});

function describeChange(
  file: { path: string; before: string | null; after: string },
  size: number,
): string {
  if (file.before === null) return `Created ${file.path} (${size} bytes).`;
  if (file.before !== file.after) return `Replaced ${file.path} (${size} bytes).`;
  return `${file.path} already had exactly this content (${size} bytes); nothing was changed.`;
}
