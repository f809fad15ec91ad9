import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { openFile } from "../../workspaces/open-file.ts";
import { defineTool, type ToolResult } from "../tool.ts";
import { describeFileError } from "./describe-file-error.ts";
import { pathAbout } from "./path-about.ts";
import { type LineWindow, readLines } from "./read-lines.ts";
import { requireWorkspace } from "./require-workspace.ts";

const maximumBytes = 256 * 1024;
const defaultLimit = 2000;

export const readFile = defineTool({
  name: "read_file",
  description:
    "Read a text file of the workspace. Returns whole lines, at most 256 KB at a time; when the " +
    "file goes on, the answer ends with the offset to read on from.",
  effect: "read",
  idempotent: true,
  scopes: ["files:read"],
  input: z.strictObject({
    path: z.string().min(1).max(4096).describe("Relative to the workspace's root."),
    offset: z.int().min(1).default(1).describe("The first line to return, from 1."),
    limit: z.int().min(1).max(100_000).default(defaultLimit).describe("How many lines at most."),
  }),
  preflight({ path }, context) {
    openFile(requireWorkspace(context), path).close();
  },
  about: ({ path }, context) => pathAbout(path, context),
  async execute({ path, offset, limit }, context) {
    const workspace = requireWorkspace(context);
    try {
      const file = openFile(workspace, path);
      try {
        const { size } = file.stats;
        const request = { offset, limit, maximumBytes };
        const window = await readLines(file.descriptor, size, request, context.signal);
        if (window !== null) return describeWindow(window, offset, file.path, size);
        const text = `${file.path} is not text (${size} bytes, binary), so its content is not shown.`;
        return { text, isError: true };
      } finally {
        file.close();
      }
    } catch (error) {
      return describeFileError(error, path);
    }
  },
});

function describeWindow(
  window: LineWindow,
  offset: number,
  path: string,
  size: number,
): ToolResult {
  const { bytes, lines, total } = window;
  if (lines === 0 && total !== undefined) {
    if (total === 0) return { text: `${path} is empty.` };
    return { text: `${path} has ${total} lines; offset ${offset} is past its end.`, isError: true };
  }
  const notes: string[] = [];
  if (!isUtf8(bytes) && !window.isCut) {
    notes.push("not valid UTF-8: the bytes that are none are shown as �; do not write them back");
  }
  const next = offset + lines;
  if (window.isCut) {
    notes.push(
      `line ${offset} is longer than ${maximumBytes} bytes and was cut; read on after it with ` +
        `offset ${next}`,
    );
  } else if (total === undefined) {
    notes.push(
      `lines ${offset} to ${next - 1}; the file goes on (${size} bytes in all): read on with offset ${next}`,
    );
  }
  // A multi-byte character at a cut is dropped, not shown as damage that is not there.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, {
    stream: window.isCut,
  });
  if (notes.length === 0) return { text };
  return { text: `${text}${text.endsWith("\n") ? "" : "\n"}[${notes.join(". ")}]` };
}
