import { McpServer } from "@modelcontextprotocol/server";
import { TaskServer } from "./install-tasks.ts";

/** The SDK's server with registered tools, on a server whose calls may become tasks. */
export class TaskMcpServer extends McpServer {
  override readonly server: TaskServer;

  constructor(...[info, options]: ConstructorParameters<typeof McpServer>) {
    // With capabilities the SDK would register its handlers on a server of its own, at once.
    super(info);
    this.server = new TaskServer(info, options);
  }
}
