import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { HttpProblem, type OwnProblemCode, problemResponse } from "./problem.ts";
import { replyHeaders } from "./reply-headers.ts";

const problems: Readonly<Record<string, readonly [OwnProblemCode, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["request-timeout", "The request did not arrive in time."],
  HPE_HEADER_OVERFLOW: ["headers-too-large", "The headers are larger than 16 KB."],
  CONNECT: ["method-not-allowed", "This is no proxy."],
};

/**
 * Answers what is no request by our reading: smuggled lengths, headers without an end, other
 * protocols. Nothing more is read from that connection, so nothing can hide behind it.
 */
export function answerBrokenRequest(error: { readonly code?: string }, socket: Duplex): void {
  const isAnswering = Reflect.get(socket, "_httpMessage")?.headersSent === true;
  if (error.code === "ECONNRESET" || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  const [code, detail] = problems[error.code ?? ""] ?? [
    "request-invalid",
    "This is not an HTTP request that can be read in one way.",
  ];
  const { problem } = new HttpProblem(code, detail);
  const body = JSON.stringify(problem);
  const headers = {
    ...replyHeaders,
    ...(code === "method-not-allowed" && { allow: "GET, POST, PUT, DELETE" }),
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () =>
    socket.destroy(),
  );
}

/** What could not even be made into a request, such as a host that is none; or our own mistake. */
export function answerRequestError(error: unknown): Response {
  const isUnreadable = error instanceof Error && error.name === "RequestError";
  const { problem } = isUnreadable
    ? new HttpProblem("request-invalid", "The host or the target cannot be read.")
    : new HttpProblem("internal", "The server could not do this.");
  return problemResponse(problem, replyHeaders);
}
