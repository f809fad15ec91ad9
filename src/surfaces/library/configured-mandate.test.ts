import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Contract } from "../../contracts/contract.ts";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { ModelRequest } from "../../ports/model.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { createMandate, type DelegationParameters, type Mandate } from "./mandate.ts";

let folder: string;
let mandate: Mandate | undefined;

beforeEach(() => {
  folder = testFolder();
});

afterEach(async () => {
  const report = await mandate?.verify();
  await mandate?.close();
  mandate = undefined;
  expect(report?.violations ?? []).toEqual([]);
});

/** Opens Mandate in a `project` that is trusted, for a user with these files below the folder. */
async function openWith(files: Readonly<Record<string, string>>) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const seen: ModelRequest[] = [];
  const contracts: Contract[] = [];
  mkdirSync(join(folder, "project"), { recursive: true });
  const opened = await createMandate({
    cwd: join(folder, "project"),
    trustWorkspace: true,
    environment: {
      MANDATE_HOME: join(folder, "home"),
      XDG_CONFIG_HOME: join(folder, "config"),
    },
    synchronous: "normal",
    middleware: [
      {
        delegation({ contract }, next) {
          contracts.push(contract);
          return next();
        },
      },
    ],
    scripted: scriptedModel((request) => {
      seen.push(request);
      const { depth, turn, task } = request.caller;
      if (depth > 0 || turn > 2 || !task.startsWith("spawn ")) return "done";
      if (turn === 2) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
      return { calls: [{ tool: "spawn", input: { task: "x", profile: task.slice(6) } }] };
    }),
  });
  mandate = opened;
  return { mandate: opened, seen, contracts };
}

const helper = (prompt: string) =>
  `---\nname: helper\ndescription: Helps.\nallowedTools: [read_file]\n---\n${prompt}\n`;

describe("a profile of the user's own", () => {
  it.each([
    ["the folder in the home directory", "config/mandate/agents/helper.md", ""],
    ["profiles/ in the workspace", "project/profiles/helper.md", ""],
    ["the configured directory", "team/helper.md", "../team"],
  ])("in %s does work like any other", async (_where, path, directory) => {
    const configured = `agents: { delegation: { profiles: { directory: "${join(folder, "project", directory)}" } } }`;
    const { mandate, seen } = await openWith({
      "config/mandate/config.yaml": directory === "" ? "{}" : configured,
      [path]: helper("You help."),
    });
    const result = await mandate.delegate({ profile: "helper", task: "help" });
    expect(result).toMatchObject({ status: "completed", profile: "helper" });
    expect(seen[0]?.system).toBe("You help.");
    expect(seen[0]?.tools.map(({ name }) => name)).toEqual(["read_file"]);
  });

  it("in the workspace stands for one of the same name in the home directory", async () => {
    const { mandate, seen } = await openWith({
      "config/mandate/config.yaml": "{}",
      "config/mandate/agents/helper.md": helper("Of the user."),
      "project/profiles/helper.md": helper("Of the project."),
    });
    await mandate.delegate({ profile: "helper", task: "help" });
    expect(seen[0]?.system).toBe("Of the project.");
  });

  it("in the configuration file can be spawned, with its prompt, tools and model", async () => {
    const { mandate, seen } = await openWith({
      "config/mandate/config.yaml": `
models: { pools: { smart: acme/large } }
tools:
  spawn:
    enabled: true
    profiles:
      digger:
        system_prompt: "You dig."
        tools: [read_file, list_files]
        pool: smart
`,
    });
    await mandate.delegate({ profile: "general", task: "spawn digger" });
    const child = seen.find(({ caller }) => caller.profile === "digger");
    expect(child).toMatchObject({ system: "You dig.", model: "acme/large" });
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file", "list_files"]);
  });
});

describe("what a program delegates", () => {
  const profiles = {
    "project/profiles/helper.md": helper("You help."),
    "project/profiles/modest.md":
      "---\nname: modest\ndescription: Small.\nallowedTools: []\nmaxTokenBudget: 9000\n---\nSmall.\n",
    "project/profiles/greedy.md":
      "---\nname: greedy\ndescription: Big.\nallowedTools: []\nmaxTokenBudget: 900000\n---\nBig.\n",
  };
  const configured =
    "agents: { delegation: { defaultTimeout: 7000, tokenBudget: { default: 4000, max: 6000 } } }";

  it.each<[string, string, Omit<DelegationParameters, "task">, number, number]>([
    ["nothing is said", "{}", { profile: "helper" }, 50_000, 300_000],
    ["the profile says less", "{}", { profile: "modest" }, 9000, 300_000],
    ["the profile says more than the cap", "{}", { profile: "greedy" }, 200_000, 300_000],
    ["the call says less", "{}", { profile: "modest", maxTokens: 50, timeout: 99 }, 50, 99],
    ["the call uses the older name", "{}", { profile: "modest", maxTokenBudget: 50 }, 50, 300_000],
    [
      "the call says more than the profile",
      "{}",
      { profile: "modest", maxTokens: 10_000 },
      9000,
      300_000,
    ],
    [
      "the call says more than the cap",
      "{}",
      { profile: "helper", maxTokens: 200_001 },
      200_000,
      300_000,
    ],
    ["the configuration says it", configured, { profile: "helper" }, 4000, 7000],
    [
      "the call says more than is configured",
      configured,
      { profile: "helper", maxTokens: 7000, timeout: 8000 },
      6000,
      8000,
    ],
  ])("has the limits of a sub-agent when %s", async (_when, yaml, parameters, tokens, time) => {
    const files = { ...profiles, "config/mandate/config.yaml": yaml };
    const { mandate, contracts } = await openWith(files);
    await mandate.delegate({ ...parameters, task: "help" });
    expect(contracts).toMatchObject([{ budget: { tokens }, deadlines: { total: time } }]);
  });

  it("costs no more dollars than the call says", async () => {
    const { mandate, contracts } = await openWith(profiles);
    await mandate.delegate({ profile: "helper", task: "help", maxCost: 0.25 });
    expect(contracts).toMatchObject([{ budget: { cost: 0.25 } }]);
    for (const maxCost of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const refused = mandate.delegate({ profile: "helper", task: "help", maxCost });
      await expect(refused).rejects.toThrow(/^maxCost must be US dollars, more than 0, not /);
    }
  });
});
