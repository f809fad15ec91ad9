import type {
  CallToolResult,
  ElicitRequestFormParams,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";

type Schema = ElicitRequestFormParams["requestedSchema"];

/** The tools with which the suite tries how a server of 2025-11-25 asks its client. */
export function registerQuestions(server: McpServer): void {
  server.registerTool(
    "test_sampling",
    { description: "Has a model answer", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const content = { type: "text" as const, text: prompt };
      const messages = [{ role: "user" as const, content }];
      const result = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      return text(`LLM response: ${JSON.stringify(result.content)}`);
    },
  );
  server.registerTool(
    "test_elicitation",
    { description: "Has a person answer", inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({ message, requestedSchema: person });
      return text(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
    },
  );
  for (const [name, requestedSchema] of Object.entries({
    test_elicitation_sep1034_defaults: defaults,
    test_elicitation_sep1330_enums: choices,
  })) {
    server.registerTool(name, { description: "Has a person answer" }, async ({ mcpReq }) => {
      const asked = { message: "Please fill this in", requestedSchema };
      const { action, content } = await mcpReq.elicitInput(asked);
      const said = JSON.stringify(content ?? {});
      return text(`Elicitation completed: action=${action}, content=${said}`);
    });
  }
}

function text(words: string): CallToolResult {
  return { content: [{ type: "text", text: words }] };
}

const person: Schema = {
  type: "object",
  properties: { username: { type: "string" }, email: { type: "string" } },
  required: ["username", "email"],
};

const defaults: Schema = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
};

const options = ["option1", "option2", "option3"];

function titled(word: string): { const: string; title: string }[] {
  return ["First", "Second", "Third"].map((ordinal, index) => {
    return { const: `value${index + 1}`, title: `${ordinal} ${word}` };
  });
}

const choices: Schema = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled("Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
  },
};
