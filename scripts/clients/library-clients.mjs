// Agents on other people's libraries, each as its documentation shows it: one MCP server over stdio, one
// model, one prompt; the answer is printed. Copied beside the packages before it runs.
import { execFile } from "node:child_process";
import { join } from "node:path";

const [name, prompt] = process.argv.slice(2);
const { CLIENT_KEY: apiKey, MODEL_URL: baseURL } = process.env;
const server = { command: "mandate", args: ["mcp"], env: process.env };
const model = "gpt-4.1";

const clients = {
  async "ai-sdk"() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Transport } = await import("@ai-sdk/mcp/mcp-stdio");
    const { createOpenAI } = await import("@ai-sdk/openai");
    const { generateText, stepCountIs } = await import("ai");
    const client = await createMCPClient({ transport: new Transport(server) });
    try {
      const tools = await client.tools();
      const openai = createOpenAI({ apiKey, baseURL });
      const { text } = await generateText({
        ...{ model: openai(model), tools, prompt },
        stopWhen: stepCountIs(12),
      });
      return text;
    } finally {
      await client.close();
    }
  },

  async mastra() {
    const { MCPClient } = await import("@mastra/mcp");
    const { Agent } = await import("@mastra/core/agent");
    const { createOpenAI } = await import("@ai-sdk/openai");
    const client = new MCPClient({ servers: { mandate: server } });
    try {
      const agent = new Agent({
        ...{ id: "agent", name: "agent", instructions: "Delegate." },
        model: createOpenAI({ apiKey, baseURL })(model),
        tools: await client.listTools(),
      });
      return (await agent.generate(prompt, { maxSteps: 12 })).text;
    } finally {
      await client.disconnect();
    }
  },

  async "openai-agents"() {
    const agents = await import("@openai/agents");
    agents.setTracingDisabled(true);
    const modelProvider = new agents.OpenAIProvider({ apiKey, baseURL });
    const { command, args, env } = server;
    const mandate = new agents.MCPServerStdio({ name: "mandate", command, args, env });
    await mandate.connect();
    try {
      const agent = new agents.Agent({ name: "agent", model, mcpServers: [mandate] });
      const result = await new agents.Runner({ modelProvider }).run(agent, prompt);
      return result.finalOutput;
    } finally {
      await mandate.close();
    }
  },

  async langchain() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const { ChatOpenAI } = await import("@langchain/openai");
    const { createReactAgent } = await import("@langchain/langgraph/prebuilt");
    const mcpServers = { mandate: { transport: "stdio", ...server } };
    const client = new MultiServerMCPClient({ mcpServers });
    try {
      const llm = new ChatOpenAI({ model, apiKey, configuration: { baseURL } });
      const agent = createReactAgent({ llm, tools: await client.getTools() });
      const { messages } = await agent.invoke({ messages: [{ role: "user", content: prompt }] });
      return messages.at(-1).content;
    } finally {
      await client.close();
    }
  },

  "inspector:legacy": () => inspect("legacy"),
  "inspector:modern": () => inspect("modern"),
};

/** The inspector has no model: a loop asks ours, and the inspector's command line makes the calls. */
async function inspect(era) {
  const program = join(import.meta.dirname, "node_modules", ".bin", "mcpdo");
  const inspector = (...words) =>
    new Promise((resolve, reject) => {
      const options = { maxBuffer: 1 << 26 };
      // A tool's error is an exit code as well, and the result is printed all the same.
      execFile(program, ["--format", "json", ...words], options, (error, stdout) =>
        stdout.trim().startsWith("{") ? resolve(JSON.parse(stdout)) : reject(error),
      );
    });
  const variables = Object.entries(process.env).filter(([key]) => /^(?:MANDATE|OPENAI)_/.test(key));
  const passed = variables.flatMap(([key, value]) => ["-e", `${key}=${value}`]);
  const place = ["--cwd", process.cwd(), ...passed];
  await inspector("connect", "--era", era, ...place, "--", server.command, ...server.args);
  process.on("SIGINT", () => void inspector("daemon", "stop").finally(() => process.exit(130)));
  try {
    const { tools } = await inspector("@mandate", "tools/list");
    const messages = [{ role: "user", content: prompt }];
    const offered = tools.map(({ name: each }) => ({ type: "function", function: { name: each } }));
    for (;;) {
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model, messages, tools: offered }),
      });
      const [{ message }] = (await response.json()).choices;
      if (message.tool_calls === undefined) return message.content;
      const [{ id, function: call }] = message.tool_calls;
      const result = await inspector("@mandate", "tools/call", call.name, call.arguments);
      messages.push(message, { role: "tool", tool_call_id: id, content: JSON.stringify(result) });
    }
  } finally {
    await inspector("daemon", "stop").catch(() => undefined);
  }
}

console.log(await clients[name]());
process.exit(0);
