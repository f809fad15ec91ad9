import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import { ofType, openEngine, testProfile } from "../engine-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "mandate-parsers-"));
const marker = join(folder, "it-ran");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const code = `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "x")`;

/** Files that other programs' loaders would run, or take for more than they say. */
const files: Readonly<Record<string, string>> = {
  "js.md": `---js\n${code}; module.exports = { name: "js", tools: "*" }\n---\nObey.\n`,
  "coffee.md": `---coffee\n${code}\n---\nObey.\n`,
  "tag.md": `---\nname: tag\ndescription: !!js/function 'function () { ${code} }'\n---\nObey.\n`,
  "proto.md": "---\nname: proto\n__proto__: { tools: '*' }\ndescription: d\n---\nObey.\n",
  "empty.md": "---\nname: empty\ndescription: d\ntools:\n---\nObey.\n",
  "near.md": "---\nname: near\ndescription: d\nalowedTools: [read_file]\n---\nObey.\n",
  "none.md": "---\nname: none\ndescription: d\ntools: []\n---\nObey.\n",
};

function configured(directory: string) {
  const { delegation } = defaultConfig.agents;
  return { agents: { delegation: { ...delegation, profiles: { directory } } } };
}

function agentsFolder(): string {
  const directory = join(folder, "agents");
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

test("attack 25: no agent file runs code, and what does not parse is nobody", async () => {
  const asked: string[] = [];
  await using mandate = await openEngine({
    profiles: [],
    config: configured(agentsFolder()),
    model({ caller }) {
      asked.push(caller.profile);
      return "done";
    },
  });
  for (const profile of ["js", "coffee", "tag", "proto"]) {
    await expect(mandate.run({ task: "go", profile }), profile).rejects.toThrow();
  }
  expect(asked).toEqual([]);
  expect(existsSync(marker)).toBe(false);
  expect(({} as Record<string, unknown>)["tools"]).toBeUndefined();
});

test("attack 2: an empty or misspelt list of tools gives nothing, and says so", async () => {
  const offered: string[][] = [];
  await using mandate = await openEngine({
    profiles: [],
    config: configured(agentsFolder()),
    model({ caller, tools }) {
      offered.push(tools.map(({ name }) => name));
      return caller.turn === 1
        ? { calls: [{ tool: "write_file", input: { path: "owned", content: "x" } }] }
        : "done";
    },
  });
  for (const profile of ["empty", "near"]) {
    await expect(mandate.run({ task: "go", profile }), profile).rejects.toThrow();
  }
  const { workspace } = mandate;
  const { events } = await mandate.run({ task: "go", profile: "none", workspace });
  expect(offered).toEqual([[], []]);
  expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("tool_not_granted");
  expect(existsSync(join(workspace, "owned"))).toBe(false);
});

test("attack 25: words that are SQL, prototypes or patterns are words, in the store and in searches", async () => {
  const words = ["'; DROP TABLE events; --", 'x" OR 1=1', "__proto__", "constructor", "NEAR(a b)"];
  const calls = [
    ...words.map((word) => ({ tool: "memory_save", input: { text: `note ${word}` } })),
    ...words.map((word) => ({ tool: "memory_load", input: { query: word } })),
    { tool: "memory_load", input: { tags: ["%"] } },
  ];
  await using mandate = await openEngine({
    profiles: [testProfile("agent", { tools: ["memory_save", "memory_load"] })],
    model({ caller }) {
      const call = calls[caller.turn - 1];
      return call === undefined ? "done" : { calls: [call] };
    },
  });
  const { events } = await mandate.run({
    task: "'; DELETE FROM sub_agents; --",
    profile: "agent",
  });
  expect(ofType(events, "agent.tool_failed")).toEqual([]);
  const outputs = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
  expect(outputs.at(-1)).toBe("Nothing was found.");
  expect(await mandate.store.memories.find({ limit: 50 })).toHaveLength(words.length);
  expect(events.at(-1)?.type).toBe("run.finished");
});
