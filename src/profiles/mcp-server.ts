import type * as declared from "../contracts/mcp-server.ts";

export type McpServer = declared.McpServer;
export type StdioServer = declared.StdioServer;
export type HttpServer = declared.HttpServer;
