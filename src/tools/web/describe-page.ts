import { STATUS_CODES } from "node:http";
import type { Clock } from "../../ports/clock.ts";
import { describeRetryAfter } from "../../workspaces/egress/web-address.ts";
import type { DocumentKind, DocumentReply } from "../documents/document-request.ts";
import { readDocument } from "../documents/read-document.ts";
import { sniffBytes } from "../documents/sniff-kind.ts";
import type { ToolResult } from "../tool.ts";
import { isHtmlType, isTextType, type MediaType, mediaTypeOf, type Page } from "./get-page.ts";

export interface PageView {
  readonly format: "markdown" | "text" | "html";
  readonly offset: number;
  readonly limit: number;
}

/** A page as text for a model. The first line is ours and marks the rest as untrusted content. */
export async function describePage(
  page: Page,
  view: PageView,
  signal: AbortSignal,
  clock: Clock,
): Promise<ToolResult> {
  const type = mediaTypeOf(page.headers["content-type"]);
  const notes: string[] = [];
  const body = await renderBody(page, type, view, notes, signal, clock);
  const facts = [
    `${page.status} ${STATUS_CODES[page.status] ?? ""}`.trim(),
    type.name === "" ? "no type" : type.name,
    `${page.body.length} bytes${page.isCut ? ", truncated there" : ""}`,
  ];
  const isError = page.status < 200 || page.status > 299;
  const retry = isError ? describeRetryAfter(page.headers["retry-after"], clock.now()) : "";
  if (retry !== "") notes.push(retry);
  const lines = [`[untrusted content from ${page.url.href}: ${facts.join(", ")}]`];
  if (body !== "") lines.push(body);
  if (notes.length > 0) lines.push(`[${notes.join(" ")}]`);
  return { text: lines.join("\n"), ...(isError && { isError }) };
}

async function renderBody(
  page: Page,
  type: MediaType,
  { format, offset, limit }: PageView,
  notes: string[],
  signal: AbortSignal,
  clock: Clock,
): Promise<string> {
  const kind = kindOf(page, type, format);
  if (kind === null) {
    const length = Number(page.headers["content-length"] ?? page.body.length);
    const size = Number.isSafeInteger(length) ? `, ${length} bytes` : "";
    notes.push(`This is not text (${type.name || "unknown type"}${size}), so it is not shown.`);
    return "";
  }
  if (page.isCut && (kind === "pdf" || kind === "docx")) {
    notes.push("The document is too large to be fetched whole, so it cannot be read.");
    return "";
  }
  const reply = await readDocument(
    {
      kind,
      format: format === "text" ? "text" : "markdown",
      view: { kind: "window", page: 1, offset, limit },
      base: page.url.href,
      ...(type.charset !== undefined && { charset: type.charset }),
    },
    page.body,
    { signal, clock },
  );
  return describeReply(reply, offset, notes);
}

/** The kind by the bytes where they are unambiguous, else by the declared media type. */
function kindOf(page: Page, type: MediaType, format: PageView["format"]): DocumentKind | null {
  const sniffed = sniffBytes(page.body);
  if (sniffed === "pdf") return "pdf";
  if (sniffed === "zip") return /wordprocessingml/.test(type.name) ? "docx" : null;
  if (sniffed === "binary" || sniffed === "old-office") return null;
  if (page.body.length === 0 && !isTextType(type)) return type.name === "" ? "text" : null;
  const isHtml = isHtmlType(type) || (sniffed === "html" && !isTextType(type));
  if (isHtml) return format === "html" ? "text" : "html";
  return isTextType(type) || isReadable(page.body) ? "text" : null;
}

function isReadable(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4096);
  const text = new TextDecoder("utf-8").decode(start, { stream: true });
  return !/\ufffd|[^\P{Cc}\t\n\r\f]/u.test(text);
}

function describeReply(reply: DocumentReply, offset: number, notes: string[]): string {
  if (reply.kind !== "window") {
    notes.push(reply.kind === "problem" ? reply.text : "It could not be read.");
    return "";
  }
  const { text, next, total } = reply;
  if (text === "")
    notes.push(offset > 0 ? `Offset ${offset} is past its end.` : "It holds no text.");
  if (next !== null) {
    const of = total === null ? "" : ` of ${total}`;
    notes.push(`More follows: continue with offset ${next}${of}.`);
  }
  return text;
}
