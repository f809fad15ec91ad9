import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import {
  FileChanged,
  readReplaceable,
  replaceFile,
  requireReplaceable,
} from "../../workspaces/replace-file.ts";
import { defineTool, type ToolResult } from "../tool.ts";
import { applyEdit, type EditRequest } from "./edit/apply-edit.ts";
import { describeRefusal } from "./edit/describe-refusal.ts";
import { renderDiff } from "./edit/render-diff.ts";
import { describeFileError, lineSafeName, pathAbout, requireWorkspace } from "./file-call.ts";

/** Held in memory more than once while it is edited. */
const largestFile = 10_000_000;

const text = z
  .string()
  .max(1_000_000)
  // Written as UTF-8 they would silently become another character.
  .refine((value) => value.isWellFormed(), "must not contain half of a surrogate pair");

export const editFile = defineTool({
  name: "edit_file",
  description:
    "Change a part of a file: replace old_text, copied from the file exactly, by new_text. It has " +
    "to occur once; add lines around it until it does, or set replace_all. Line endings, byte " +
    "order mark and permissions stay as they are. Answers with a diff.",
  effect: "write",
  exposure: noExposure,
  // A second time it fails, or, where the new text contains the old one, changes the file again.
  native: "edit",
  idempotent: false,
  scopes: ["files:write"],
  changes: "reported",
  input: z.strictObject({
    path: z.string().min(1).max(4096).describe("Relative to the workspace's root."),
    old_text: text.min(1).describe("What is there now, blanks included, without line numbers."),
    new_text: text.describe("What is to be there instead. Empty: it is removed."),
    replace_all: z.boolean().default(false).describe("Every occurrence instead of the only one."),
  }),
  preflight({ path }, context) {
    requireReplaceable(requireWorkspace(context), path);
  },
  about: ({ path }, context) => pathAbout(path, context),
  async execute({ path, old_text, new_text, replace_all }, context) {
    const workspace = requireWorkspace(context);
    const texts = { oldText: old_text, newText: new_text };
    const request = { ...texts, replaceAll: replace_all, largest: largestFile };
    try {
      return await edit(workspace, path, request, context.signal);
    } catch (error) {
      if (error instanceof FileChanged) return { text: error.message, isError: true };
      return describeFileError(error, path);
    }
  },
});

async function edit(
  workspace: WorkspaceBinding,
  asked: string,
  request: EditRequest,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { path, content, hash, size } = readReplaceable(workspace, asked, largestFile);
  if (content === null) {
    const text = `${path} has ${size} bytes; files of more than ${largestFile} cannot be edited.`;
    return { text, isError: true };
  }
  const outcome = applyEdit(content, request);
  if (outcome.kind !== "applied") {
    return { text: describeRefusal(path, content, request.oldText, outcome), isError: true };
  }
  const file = await replaceFile(workspace, asked, outcome.content, { signal, expected: hash });
  const { length } = outcome.regions;
  const often = length === 1 ? "" : ` in ${length} places`;
  const name = lineSafeName(path);
  const diff = await renderDiff(name, content, outcome.content, outcome.regions);
  const lines = diff.counts && { lines: diff.counts };
  return { text: `Edited ${name}${often}.\n${diff.text}`, files: [{ ...file, ...lines }] };
}
