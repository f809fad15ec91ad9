import { setTimeout as after } from "node:timers/promises";
import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

/** The smallest image and sound that there are. */
export const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/** The tools that the suite calls by name for what they give back. */
export function registerContent(server: McpServer): void {
  const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
  const image = { type: "image", data: onePixel, mimeType: "image/png" } as const;
  const resource = (uri: string) =>
    ({
      type: "resource",
      resource: { uri, mimeType: "text/plain", text: "This is an embedded resource content." },
    }) as const;

  server.registerTool("test_simple_text", { description: "Says something" }, () =>
    text("This is a simple text response for testing."),
  );
  server.registerTool("test_image_content", { description: "Shows something" }, () => ({
    content: [image],
  }));
  server.registerTool("test_audio_content", { description: "Plays something" }, () => ({
    content: [{ type: "audio", data: silence, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", { description: "Brings a resource" }, () => ({
    content: [resource("test://embedded-resource")],
  }));
  server.registerTool("test_multiple_content_types", { description: "Brings all of it" }, () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      image,
      resource("test://mixed-content-resource"),
    ],
  }));
  server.registerTool("test_error_handling", { description: "Fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool("test_tool_with_logging", { description: "Logs" }, async (context) => {
    await context.mcpReq.log("info", "Tool execution started");
    await after(50);
    await context.mcpReq.log("info", "Tool processing data");
    await after(50);
    await context.mcpReq.log("info", "Tool execution completed");
    return text("Logged three times.");
  });
  server.registerTool("test_logging_tool", { description: "Logs once" }, async (context) => {
    await context.mcpReq.log("info", "It works");
    return text("Logged once.");
  });
  server.registerTool("test_tool_with_progress", { description: "Proceeds" }, async (context) => {
    const { progressToken } = context.mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
        await context.mcpReq.notify({ method: "notifications/progress", params });
      }
      await after(20);
    }
    return text("Went on to the end.");
  });
  server.registerTool("test_reconnection", { description: "Drops its stream" }, async (context) => {
    await after(50);
    context.http?.closeSSE?.();
    await after(50);
    return text("Went on without a stream.");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a rich schema", inputSchema: fromJsonSchema(richSchema) },
    () => text("Took it."),
  );
  server.registerTool(
    "test_custom_header",
    { description: "Mirrors an argument in a header", inputSchema: fromJsonSchema(mirrored) },
    () => text("Took it."),
  );
  server.registerTool(
    "greet",
    { description: "Greets at once", inputSchema: z.object({ name: z.string() }) },
    ({ name }) => text(`Hello, ${name}!`),
  );
}

const richSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: it is the keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const mirrored = {
  type: "object" as const,
  properties: { region: { type: "string", "x-mcp-header": "Region" } },
  required: ["region"],
};
