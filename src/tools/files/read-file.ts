import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { openFile } from "../../workspaces/open-file.ts";
import { readsFiles } from "../exposure-of.ts";
import { defineTool, type ToolResult } from "../tool.ts";
import { describeFileError, pathAbout, requireWorkspace } from "./file-call.ts";
import { type LineWindow, readLines } from "./read-lines.ts";
import { hintAtOrigin, type RecognisedFile, recogniseFile } from "./recognise-file.ts";

const maximumBytes = 256 * 1024;
const defaultLimit = 2000;

/**
 * The text comes without line numbers by default, so that it can be copied into edit_file and costs
 * fewer tokens. A call that needs numbers sets `numbered`, or uses grep.
 */
export const readFile = defineTool({
  name: "read_file",
  description:
    "Read a text file of the workspace. Returns whole lines as they are, at most 256 KB at a time; " +
    "when the file is longer, the answer ends with the offset to read on from. Of an image or a PDF " +
    "it says what it is, and how large.",
  ...readsFiles,
  native: "read",
  input: z.strictObject({
    path: z.string().min(1).max(4096).describe("Relative to the workspace's root."),
    offset: z.int().min(1).default(1).describe("The first line to return, from 1."),
    limit: z.int().min(1).max(100_000).default(defaultLimit).describe("How many lines at most."),
    numbered: z
      .boolean()
      .default(false)
      .describe("Begin each line with its number and a tab, which are not in the file."),
  }),
  preflight({ path }, context) {
    openFile(requireWorkspace(context), path).close();
  },
  about: ({ path }, context) => pathAbout(path, context),
  async execute({ path, offset, limit, numbered }, context) {
    const workspace = requireWorkspace(context);
    try {
      const file = openFile(workspace, path);
      try {
        const { size } = file.stats;
        const recognised = recogniseFile(file.descriptor);
        if (recognised?.isDocument) return { text: describeDocument(file.path, size, recognised) };
        const request = { offset, limit, maximumBytes };
        const window = await readLines(file.descriptor, size, request, context.signal);
        if (window !== null)
          return describeWindow(window, { path: file.path, size, offset, numbered });
        const kind = recognised?.kind ?? "binary";
        const text = `${file.path} is not text (${size} bytes, ${kind}), so its content is not shown.`;
        return { text, isError: true };
      } finally {
        file.close();
      }
    } catch (error) {
      return describeFileError(error, path);
    }
  },
});

function describeDocument(path: string, size: number, { kind, pixels }: RecognisedFile): string {
  const dimensions = pixels === undefined ? "" : `, ${pixels.width} × ${pixels.height} pixels`;
  const advice = kind.startsWith("a PDF")
    ? "document_query reads what it says, where you have it."
    : "What it shows cannot be told in text.";
  return `${path} is ${kind}${dimensions} (${size} bytes). ${advice}`;
}

interface WindowRequest {
  readonly path: string;
  readonly size: number;
  readonly offset: number;
  readonly numbered: boolean;
}

function describeWindow(window: LineWindow, request: WindowRequest): ToolResult {
  const { path, size, offset } = request;
  const { bytes, lines, total } = window;
  if (lines === 0 && total !== undefined) {
    if (total === 0) return { text: `${path} is empty.` };
    return { text: `${path} has ${total} lines; offset ${offset} is past its end.`, isError: true };
  }
  // A multi-byte character at a cut is dropped and not shown as invalid.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const text = decoder.decode(bytes, { stream: window.isCut });
  const notes: string[] = [];
  if (!isUtf8(bytes) && !window.isCut) {
    notes.push("not valid UTF-8: the bytes that are none are shown as �; do not write them back");
  }
  const hint = offset === 1 && !window.isCut ? hintAtOrigin(text, lines) : undefined;
  if (hint !== undefined) notes.push(hint);
  const next = offset + lines;
  if (window.isCut) {
    notes.push(
      `line ${offset} is longer than ${maximumBytes} bytes and was cut; read on after it with ` +
        `offset ${next}`,
    );
  } else if (total === undefined) {
    notes.push(
      `lines ${offset} to ${next - 1}; the file is longer (${size} bytes in all): read on with offset ${next}`,
    );
  }
  const shown = request.numbered ? numberLines(text, offset) : text;
  if (notes.length === 0) return { text: shown };
  return { text: `${shown}${shown.endsWith("\n") ? "" : "\n"}[${notes.join(". ")}]` };
}

function numberLines(text: string, first: number): string {
  const lines = text.split("\n");
  const hasEnd = lines.at(-1) === "";
  if (hasEnd) lines.pop();
  const numbered = lines.map((line, index) => `${first + index}\t${line}`);
  return numbered.join("\n") + (hasEnd ? "\n" : "");
}
