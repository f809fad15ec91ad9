import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { beforeAll, expect, test } from "vitest";
import { rankByText, stemOf } from "../../../agents/documents/catalogue.ts";
import { ControlPlane } from "../../../control/records/control-plane.ts";
import { until } from "../../../testing/until.ts";
import { callTool, McpDesk } from "../mcp-desk.test-support.ts";

const playbook = "version: 1\nname: surface\nreplies:\n  - text: Done\n";

interface Listed {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema;
}

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

let tools: readonly Listed[];
let instructions: string;

/** The most that is advertised: with a registered agent. */
beforeAll(async () => {
  await using desk = new McpDesk(playbook);
  const client = await desk.connect({ era: "2025-11-25" });
  let changes = 0;
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    changes += 1;
  });
  const { tools: before } = await client.listTools();
  expect(before.map(({ name }) => name)).not.toContain("delegate_to_agent");
  await desk.withStore((store) => {
    const plane = new ControlPlane({ store, profiles: { has: () => true } });
    const entry = { agentId: "@writer", profileId: "writer", description: "Writes documents." };
    return plane.register(entry, { id: "local", role: "operator" });
  });
  await until("the client is notified of the registered agent", () => changes > 0);
  tools = (await client.listTools()).tools as unknown as readonly Listed[];
  expect(tools.map(({ name }) => name)).toContain("delegate_to_agent");
  instructions = client.getInstructions() ?? "";
});

/** Claude Code cuts descriptions and instructions after 2,048 characters, others later. */
const longestText = 2048;

test("Everything advertised costs a conversation at most 3,500 tokens, and nothing is cut by a client", () => {
  const costs = tools.map(({ description, inputSchema, name, outputSchema }) => {
    const texts = [description, JSON.stringify(inputSchema), JSON.stringify(outputSchema)];
    return { name, tokens: texts.reduce((sum, text) => sum + countTokens(text), 0) };
  });
  const total = costs.reduce((sum, { tokens }) => sum + tokens, countTokens(instructions));
  expect({ costs, isBelow: total <= 3500 ? true : total }).toMatchObject({ isBelow: true });
  expect(Math.max(...tools.map(({ description }) => description.length))).toBeLessThanOrEqual(600);
  expect(instructions.length).toBeLessThan(longestText);
});

test("Every parameter is described, bounded by what is enforced, and shown under one name", () => {
  const undescribed: string[] = [];
  const visit = (path: string, { items, properties = {} }: Schema): void => {
    for (const [name, schema] of Object.entries(properties)) {
      if (!schema.description) undescribed.push(`${path}.${name}`);
      visit(`${path}.${name}`, schema);
    }
    if (items !== undefined) visit(`${path}[]`, items);
  };
  for (const { inputSchema, name } of tools) visit(name, inputSchema);
  expect(undescribed).toEqual([]);
  const text = JSON.stringify(tools);
  expect(text).not.toContain("9007199254740991");
  expect(text).not.toContain("maxTokenBudget");
  expect(text).not.toContain("<available_spawn_profiles>");
});

/** Stop words of NLTK's English list, as far as the queries have them. */
const stopWords = new Set(["a", "an", "in", "the", "this", "to"]);

/** As Codex 0.169 ranks: an underscore joins words, a hyphen does not. */
const codexWords = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])
    .filter((word) => !stopWords.has(word))
    .map((word) => (word.includes("_") ? word : stemOf(word)));

/** Tools of other servers, among which ours have to be found. */
const otherTools = [
  "github create_issue Create an issue in a repository. owner repo title body",
  "github search_code Search code across repositories with an agent. query",
  "browser run_script Run a script in the page in the background. code",
  "files read_file Read a file of the workspace. path",
  "tracker create_task Create a task and assign it to an agent. title assignee",
  "calendar list_events List calendar events. from to",
];

test.each([
  ["delegate_task", "delegate_task"],
  ["delegate a task to a sub-agent", "delegate_task"],
  ["spawn a sub-agent in the background", "spawn"],
  ["run a reviewer", "request_review"],
  ["mandate", "delegate_task"],
  ["ask another agent to research this", "delegate_task"],
  ["parallel agents", "spawn"],
])("Codex's tool search for %j finds %s first", (query, wanted) => {
  // Codex adds a server's instructions to the text of each of its tools.
  for (const about of [instructions, ""]) {
    const own = tools.map(({ description, inputSchema, name, title = "" }) => {
      const parameters = Object.keys(inputSchema.properties ?? {}).sort();
      const text = [`mcp__mandate__${name}`, name, name, "mandate", title, description, about];
      return { name, text: [...text, ...parameters].join(" ") };
    });
    const all = [...own, ...otherTools.map((text) => ({ name: text, text }))];
    const found = rankByText(all, query, ({ text }) => text, codexWords);
    expect(found.slice(0, 8).map(({ name }) => name)).toContain(wanted);
    expect(found[0]?.name).toBe(wanted);
  }
});

test("Two thousand profiles are found by their words, and none of them is in a description", async () => {
  await using desk = new McpDesk(playbook);
  for (let index = 0; index < 2000; index += 1) {
    desk.addProfile(
      `agent-${index}`,
      `---\nname: agent-${index}\ndescription: Works on part ${index}.\n---\nWork.\n`,
    );
  }
  desk.addProfile(
    "harbour-pilot",
    "---\nname: harbour-pilot\ndescription: Guides ships through narrow channels.\n---\nGuide.\n",
  );
  const client = await desk.connect({ era: "2026-07-28" });
  const { tools } = await client.listTools();
  expect(JSON.stringify(tools)).not.toMatch(/agent-1999|harbour-pilot/);
  const found = await callTool(client, "list_profiles", { query: "guiding ships", limit: 3 });
  expect(found.structuredContent).toMatchObject({
    profiles: [{ name: "harbour-pilot", description: "Guides ships through narrow channels." }],
    matches: 1,
  });
  const missed = await callTool(client, "list_profiles", { query: "harbour-pliot" });
  expect(missed.structuredContent).toMatchObject({ profiles: [{ name: "harbour-pilot" }] });
  const all = await callTool(client, "list_profiles", {});
  expect(all.structuredContent).toMatchObject({ profiles: { length: 20 }, total: 2013 });
  const { text } = await callTool(client, "delegate_task", { profile: "harbor-pilot", task: "x" });
  expect(text).toMatch(/^Error: unknown profile 'harbor-pilot' Known: harbour-pilot, .*more\.$/);
  const { contents } = await client.readResource({ uri: "mandate://profiles" });
  expect((contents[0] as { text: string }).text).toContain("- agent-1999: Works on part 1999.");
});

test("Names of other tools and other spellings are accepted, and a limit given twice is refused", async () => {
  await using desk = new McpDesk(playbook);
  const client = await desk.connect({ era: "2025-11-25" });
  const input = { agent_id: "general", prompt: "x", max_depth: 1, maxTokenBudget: 40_000 };
  expect(await callTool(client, "delegate_task", input)).toMatchObject({
    structuredContent: { status: "completed", profile: "general" },
  });
  const twice = { profile: "general", task: "x", maxTokens: 1, maxTokenBudget: 90_000 };
  expect(await callTool(client, "delegate_task", twice)).toMatchObject({
    isError: true,
    text: expect.stringContaining('unknown parameter "maxTokenBudget"'),
  });
  const { text: id } = await callTool(client, "spawn", { instructions: "x", tools: ["grep"] });
  const awaited = await callTool(client, "spawn_await", { ids: [id], waitMs: 30_000 });
  expect(awaited.text).toBe(`[${id}: OK]\nDone`);
  const found = await callTool(client, "get_delegation_result", { jobId: id });
  expect(found.structuredContent).toMatchObject({ delegation: { delegationId: id } });
});
