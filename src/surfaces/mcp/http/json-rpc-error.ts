/** What is answered to a message that no server was asked about. */
export function jsonRpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}

/** The same for one that never was, one that is over, and one of somebody else. */
export function sessionNotFound(): Response {
  return jsonRpcError(404, -32_001, "Session not found");
}
