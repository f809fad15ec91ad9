// The first line of the process that reads documents: one request in, one reply out, then it ends.
// It holds no keys, may write no files and start no programs, and its time and memory are bounded
// from outside.
import { readFileSync, writeFileSync } from "node:fs";
import { cutWindow } from "./cut-window.ts";
import { DocumentProblem, type DocumentReply, type DocumentRequest } from "./document-request.ts";
import { findPassages } from "./find-passages.ts";
import { openDocument } from "./open-document.ts";

const requestAt = 0;
/** The reply has its own descriptor: libraries print to standard output. */
const replyAt = 3;
export type ReplyAt = typeof replyAt;

async function answer(): Promise<DocumentReply> {
  const input = readFileSync(requestAt);
  const lineEnd = input.indexOf(10);
  const request = JSON.parse(input.toString("utf8", 0, lineEnd)) as DocumentRequest;
  const isLate = () => performance.now() > request.patienceMs;
  try {
    const document = await openDocument(input.subarray(lineEnd + 1), request);
    const { view } = request;
    return view.kind === "window"
      ? await cutWindow(document, view, isLate)
      : await findPassages(document, view.query, view.count, isLate);
  } catch (error) {
    if (error instanceof DocumentProblem) return { kind: "problem", text: error.message };
    // Whatever a library trips over is in the document: its own words would be the author's.
    return { kind: "problem", text: "The document is damaged or too complex to be read." };
  }
}

// Libraries let promises fail that are not awaited; awaited ones report their result.
process.on("unhandledRejection", () => undefined);
writeFileSync(replyAt, JSON.stringify(await answer()));
// Libraries may have left timers or promises behind.
process.exit(0);
