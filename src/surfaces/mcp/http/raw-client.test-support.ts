const modernVersion = "2026-07-28";

export interface RawAnswer {
  readonly status: number;
  readonly session: string | null;
  /** The message with the request's id, from a stream as well. */
  readonly message: {
    readonly id?: unknown;
    readonly result?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  };
}

export interface RawRequest {
  readonly url: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends exactly these bytes: what a client package would never send. */
export async function post(request: RawRequest, body: unknown): Promise<RawAnswer> {
  const response = await fetch(request.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${request.token ?? "alice"}`,
      ...request.headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(request.signal && { signal: request.signal }),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  return {
    status: response.status,
    session: response.headers.get("mcp-session-id"),
    message: isStream ? lastIn(text) : text === "" ? {} : JSON.parse(text),
  };
}

function lastIn(stream: string): RawAnswer["message"] {
  const data = stream.split("\n").filter((line) => line.startsWith("data: {"));
  return JSON.parse(data.at(-1)?.slice("data: ".length) ?? "{}");
}

/** Opens a session of 2025-11-25, and gives the headers that go with it. */
export async function initialize(request: RawRequest): Promise<Record<string, string>> {
  const clientInfo = { name: "raw", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { session } = await post(request, call(0, "initialize", params));
  const headers = { "mcp-session-id": session ?? "", "mcp-protocol-version": "2025-11-25" };
  const ready = { jsonrpc: "2.0", method: "notifications/initialized" };
  await post({ ...request, headers }, ready);
  return headers;
}

export function call(id: unknown, method: string, params: object = {}): object {
  return { jsonrpc: "2.0", id, method, params };
}

/** Posts with all that 2026-07-28 requires. */
export async function postModern(
  request: RawRequest,
  id: unknown,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  capabilities: object = {},
): Promise<RawAnswer> {
  const name = params["name"] ?? params["taskId"];
  const headers = {
    "mcp-protocol-version": modernVersion,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
    ...request.headers,
  };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": modernVersion,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return post({ ...request, headers }, call(id, method, { ...params, _meta }));
}
