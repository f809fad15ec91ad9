import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProgramAnswer } from "./answer-program.ts";
import { findEndpoint } from "./find-endpoint.ts";
import type { Gateway } from "./gateway.ts";
import { RefusedBody, readProgramBody } from "./read-program-body.ts";

/** Requests of one delegation at a time: each one holds its body in memory. */
const mostAtOnce = 256;

/** The holder of a token, or of the door of a sandbox. */
export class ProgramHolder {
  readonly gateway: Gateway;
  open = 0;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }
}

/** Why a request is refused before anything of it is read. */
export interface Problem {
  readonly status: number;
  readonly message: string;
}

/** Answers one HTTP request of a program, under the contract of its holder. */
export async function serveProgram(
  holder: ProgramHolder,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", url = "" } = request;
  const endpoint = findEndpoint(method, url);
  if (endpoint === undefined) return refuseProgram(request, response, noEndpoint);
  const { gateway } = holder;
  if (endpoint.kind === "unknown") {
    const refusing = gateway.refuseEndpoint(endpoint.protocol, `${method} ${pathOf(url)}`);
    return send(response, await refusing);
  }
  if (endpoint.kind === "list") return send(response, gateway.list(endpoint.protocol));
  if (holder.open >= mostAtOnce) {
    const message = `More than ${mostAtOnce} requests at once. Send it again later.`;
    return refuseProgram(request, response, { status: 503, message });
  }
  holder.open++;
  const aborted = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) aborted.abort(new Error("The program has disconnected."));
  });
  try {
    const body = await readProgramBody(request);
    const header = (name: string): string | undefined => request.headersDistinct[name]?.[0];
    const { protocol, route } = endpoint;
    const { signal } = aborted;
    await send(response, await gateway.answer({ protocol, route, body, header, signal }));
  } catch (error) {
    if (error instanceof RefusedBody) return await refuseProgram(request, response, error);
    if (aborted.signal.aborted) return;
    throw error;
  } finally {
    holder.open--;
  }
}

const noEndpoint: Problem = {
  status: 404,
  message: "No such endpoint. The addresses are below /anthropic, /openai/v1 and /google.",
};

/** Refuses in the form of the protocol, and ends the connection: nothing behind it is read. */
export async function refuseProgram(
  request: IncomingMessage,
  response: ServerResponse,
  { message, status }: Problem,
): Promise<void> {
  const endpoint = findEndpoint(request.method ?? "", request.url ?? "");
  const body = endpoint?.protocol.refusal({ status, message, isBudget: false });
  response.writeHead(status, {
    ...replyHeaders,
    "content-type": "application/json",
    ...(status < 500 && { "x-should-retry": "false" }),
    connection: "close",
  });
  response.end(JSON.stringify(body ?? { error: { message } }));
  request.resume();
  await once(response, "close");
}

const replyHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** A stream is read no faster than the program reads. */
async function send(
  response: ServerResponse,
  { body, headers, status }: ProgramAnswer,
): Promise<void> {
  if (Buffer.isBuffer(body)) {
    response.writeHead(status, { ...headers, ...replyHeaders, "content-length": body.length });
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...replyHeaders });
  response.flushHeaders();
  for await (const chunk of body) {
    if (response.destroyed) return;
    if (!response.write(chunk)) {
      await Promise.race([once(response, "drain"), once(response, "close")]);
    }
  }
  response.end();
}

function pathOf(url: string): string {
  return url.split("?", 1)[0]?.slice(0, 200) ?? "";
}
