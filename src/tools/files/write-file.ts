import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { LineCounts } from "../../events/event.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { readReplaceable, replaceFile, requireReplaceable } from "../../workspaces/replace-file.ts";
import { defineTool } from "../tool.ts";
import { countLineChanges } from "./edit/render-diff.ts";
import { describeFileError, pathAbout, requireWorkspace } from "./file-call.ts";

export const writeFile = defineTool({
  name: "write_file",
  description:
    "Create a file in the workspace, or replace all of its content. Missing folders are created. " +
    "The file has the new content or the old one, never a part.",
  effect: "write",
  exposure: noExposure,
  // A repeated call leaves the same file behind.
  native: "write",
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
      const before = contentBefore(workspace, path);
      const file = await replaceFile(workspace, path, bytes, { signal: context.signal });
      const lines = await countLines(before, file.before, content);
      return {
        text: describeChange(file, bytes.length),
        files: [{ ...file, ...(lines && { lines }) }],
      };
    } catch (error) {
      return describeFileError(error, path);
    }
  },
});

/** The lines of a larger file are not counted. */
const largestCounted = 256 * 1024;

/** What the file holds; null: it does not exist, is too large, or cannot be read. */
function contentBefore(workspace: WorkspaceBinding, path: string) {
  try {
    return readReplaceable(workspace, path, largestCounted);
  } catch {
    // The replacement reports what is wrong with the path.
    return null;
  }
}

async function countLines(
  read: ReturnType<typeof contentBefore>,
  hashBefore: string | null,
  after: string,
): Promise<LineCounts | undefined> {
  if (hashBefore === null) return countLineChanges("", after);
  // Another process may have changed the file in between.
  if (!read?.content || read.hash !== hashBefore) return undefined;
  return countLineChanges(read.content.toString("utf8"), after);
}

function describeChange(
  file: { path: string; before: string | null; after: string },
  size: number,
): string {
  if (file.before === null) return `Created ${file.path} (${size} bytes).`;
  if (file.before !== file.after) return `Replaced ${file.path} (${size} bytes).`;
  return `${file.path} already had exactly this content (${size} bytes); nothing was changed.`;
}
