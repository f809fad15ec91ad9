import { z } from "zod";
import { readWholeFile } from "../../files.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { openFile } from "../../workspaces/open-file.ts";
import { readsFiles } from "../exposure-of.ts";
import { describeFileError, pathAbout, requireWorkspace } from "../files/file-call.ts";
import { defineTool, type Tool, type ToolContext, type ToolResult } from "../tool.ts";
import type {
  DocumentKind,
  DocumentReply,
  DocumentView,
  Passage,
  PassagesReply,
  WindowReply,
} from "./document-request.ts";
import { kindOfFile, sniffBytes } from "./sniff-kind.ts";

const maximumBytes = 20 * 1024 * 1024;
const passageCount = 8;

export function createDocumentQuery(clock: Clock = systemClock): Tool {
  return defineTool({
    name: "document_query",
    description:
      "Read a document of the workspace as text: PDF, DOCX, HTML, Markdown or plain text. With " +
      "query, returns the passages that fit those words best, each with its place; without, the " +
      "text itself from page and offset on.",
    ...readsFiles,
    input: z.strictObject({
      path: z.string().min(1).max(4096).describe("Relative to the workspace's root."),
      query: z.string().trim().min(1).max(500).optional().describe("Words to look for."),
      page: z.int().min(1).max(1_000_000).default(1).describe("The page to read from, in a PDF."),
      offset: z
        .int()
        .min(0)
        .max(100_000_000)
        .default(0)
        .describe("The first character to return, counted from the start of the page."),
      limit: z.int().min(1).max(60_000).default(20_000).describe("How many characters at most."),
    }),
    preflight({ path }, context) {
      openFile(requireWorkspace(context), path).close();
    },
    about: ({ path }, context) => pathAbout(path, context),
    async execute({ path, query, page, offset, limit }, context) {
      const file = load(path, context);
      if ("text" in file) return file;
      const { kind, bytes, shown } = file;
      if (kind !== "pdf" && page > 1) {
        return failure(`${shown} has no pages. Use offset to read on in it.`);
      }
      const view: DocumentView =
        query === undefined
          ? { kind: "window", page, offset, limit }
          : { kind: "passages", query, count: passageCount };
      const { readDocument } = await import("./read-document.ts");
      const reply = await readDocument({ kind, format: "markdown", view }, bytes, {
        signal: context.signal,
        clock,
      });
      return describeDocument(reply, { path: shown, kind, view });
    },
  });
}

interface LoadedFile {
  readonly kind: DocumentKind;
  readonly bytes: Buffer;
  readonly shown: string;
}

/** All of the file at once, through the boundary of the workspace, or why it is not to be had. */
function load(path: string, context: ToolContext): LoadedFile | ToolResult {
  const workspace = requireWorkspace(context);
  try {
    const file = openFile(workspace, path);
    try {
      const shown = file.path;
      const bytes = readWholeFile(file.descriptor, maximumBytes);
      if (bytes === null) {
        return failure(
          `${shown} has more than ${maximumBytes / 1024 / 1024} MB, so it is not read.`,
        );
      }
      if (bytes.length === 0) return { text: `${shown} is empty.` };
      const kind = kindOfFile(shown, bytes);
      return kind === null ? failure(noDocument(shown, bytes)) : { kind, bytes, shown };
    } finally {
      file.close();
    }
  } catch (error) {
    return describeFileError(error, path);
  }
}

function noDocument(shown: string, bytes: Buffer): string {
  const what =
    sniffBytes(bytes) === "old-office"
      ? "is of an old office program, or locked, and cannot be read: save it as DOCX or PDF"
      : `is no document (${bytes.length} bytes, binary)`;
  return `${shown} ${what}.`;
}

function failure(text: string): ToolResult {
  return { text, isError: true };
}

interface Asked {
  readonly path: string;
  readonly kind: DocumentKind;
  readonly view: DocumentView;
}

const kindNames: Readonly<Record<DocumentKind, string>> = {
  ...{ pdf: "PDF", docx: "DOCX", html: "HTML", markdown: "Markdown", text: "text" },
};

function describeDocument(reply: DocumentReply, asked: Asked): ToolResult {
  if (reply.kind === "problem") return { text: `${asked.path}: ${reply.text}`, isError: true };
  return reply.kind === "window" ? describeWindow(reply, asked) : describePassages(reply, asked);
}

function headline({ path, kind }: Asked, reply: WindowReply | PassagesReply): string {
  const facts = [`${path}: ${kindNames[kind]}`];
  if (reply.pages !== null) facts.push(`${reply.pages} pages`);
  if (reply.title !== "") facts.push(JSON.stringify(reply.title));
  if (reply.kind === "window" && reply.page !== null) facts.push(`from page ${reply.page}`);
  return facts.join(", ");
}

function describeWindow(reply: WindowReply, asked: Asked): ToolResult {
  const { text, next, page, pages, offset, total } = reply;
  const head = headline(asked, reply);
  if (page !== null && pages !== null && page > pages) {
    return { text: `[${head}; there is no page ${page}]`, isError: true };
  }
  if (text === "") {
    if (offset > 0) return { text: `[${head}; offset ${offset} is past its end]`, isError: true };
    const why = asked.kind === "pdf" ? " (its pages may be pictures)" : "";
    return { text: `[${head}; it holds no text${why}]` };
  }
  const size = total === null ? "" : `, ${total} characters`;
  if (next === null) return { text: `[${head}${size}]\n${text}` };
  const from = page === null ? `offset ${next}` : `page ${page} and offset ${next}`;
  return { text: `[${head}${size}]\n${text}\n[more follows: continue with ${from}]` };
}

function describePassages(reply: PassagesReply, asked: Asked): ToolResult {
  const { passages, stoppedAt } = reply;
  const until = stoppedAt === null ? "" : `; looked through up to ${stoppedAt} only`;
  const head = headline(asked, reply);
  if (passages.length === 0) {
    return { text: `[${head}${until}; none of these words are in it. Try others, or read it.]` };
  }
  const shown = passages.map((passage, index) => `${place(passage, index)}\n${passage.text}`);
  return { text: `[${head}${until}; best passages first]\n\n${shown.join("\n\n")}` };
}

function place({ page, offset, line, heading }: Passage, index: number): string {
  const where = page === null ? `line ${line}, offset ${offset}` : `page ${page}, offset ${offset}`;
  return `[${index + 1}: ${where}${heading === "" ? "" : `, under ${JSON.stringify(heading)}`}]`;
}
