import type { ToolResult } from "../tool.ts";
import type {
  DocumentKind,
  DocumentReply,
  DocumentView,
  Passage,
  PassagesReply,
  WindowReply,
} from "./document-request.ts";

interface Asked {
  readonly path: string;
  readonly kind: DocumentKind;
  readonly view: DocumentView;
}

const kindNames: Readonly<Record<DocumentKind, string>> = {
  ...{ pdf: "PDF", docx: "DOCX", html: "HTML", markdown: "Markdown", text: "text" },
};

export function describeDocument(reply: DocumentReply, asked: Asked): ToolResult {
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
