import { McpServer } from "@modelcontextprotocol/server";
import { TaskServer } from "./task-server.ts";

/** The SDK's server with registered tools, on a server whose calls may become tasks. */
export class TaskMcpServer extends McpServer {
  override readonly server: TaskServer;

  constructor(...options: ConstructorParameters<typeof McpServer>) {
    super(...options);
    this.server = new TaskServer(...options);
  }
}
