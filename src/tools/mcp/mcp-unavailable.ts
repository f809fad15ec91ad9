/** A server that cannot be used now: which one, why, and what to do. Never the end of the process. */
export class McpUnavailable extends Error {
  readonly server: string;

  constructor(server: string, reason: string, options?: ErrorOptions) {
    super(`The MCP server "${server}" ${reason}`, options);
    this.name = "McpUnavailable";
    this.server = server;
  }
}
