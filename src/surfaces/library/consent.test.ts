import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { createMandate, type Mandate, type MandateOptions } from "./mandate.ts";

let root: string;
let home: string;
let project: string;
let mandate: Mandate | undefined;

beforeEach(() => {
  root = testFolder();
  home = join(root, "anna");
  project = join(home, "project");
  mkdirSync(project, { recursive: true });
});

afterEach(async () => {
  const report = await mandate?.verify();
  await mandate?.close();
  mandate = undefined;
  expect(report?.violations ?? []).toEqual([]);
});

/** With a home folder of its own, and a writer who writes note.txt. */
async function open(options: MandateOptions = {}): Promise<Mandate> {
  mandate = await createMandate({
    environment: { HOME: home, PATH: process.env["PATH"] },
    cwd: project,
    profiles: [
      {
        ...{ name: "writer", description: "Writes", prompt: "You write.", origin: "test" },
        capabilities: ["subtask"],
        tools: ["write_file"],
      },
    ],
    scripted: scriptedModel(({ messages }) =>
      messages.length === 1
        ? { calls: [{ tool: "write_file", input: { path: "note.txt", content: "hello" } }] }
        : "done",
    ),
    ...options,
  });
  return mandate;
}

const task = { profile: "writer", task: "write" };

describe("a program", () => {
  test("consents to a folder by naming it, and works in none without", async () => {
    const { delegate } = bound(await open());
    expect(await delegate(task)).toMatchObject({ status: "completed" });
    expect(existsSync(join(project, "note.txt"))).toBe(false);
    expect(await delegate({ ...task, workspace: project })).toMatchObject({ status: "completed" });
    expect(existsSync(join(project, "note.txt"))).toBe(true);
    expect(await mandate?.control.consents("local")).toEqual([]);
  });

  test("is held to what a person answered for the folder", async () => {
    const { control, delegate } = bound(await open());
    const owner = process.getuid?.() ?? null;
    const by = { id: "local", role: "operator" } as const;
    await control.consent({ folder: project, mode: "read-only", owner }, by);
    await delegate({ ...task, workspace: project });
    expect(existsSync(join(project, "note.txt"))).toBe(false);
    const viewer = { id: "local", role: "viewer" } as const;
    await expect(
      control.consent({ folder: project, mode: "in-place", owner }, viewer),
    ).rejects.toMatchObject({ code: "refused-by-policy" });
  });

  test("works in the home folder, around it or through a link to it with force alone", async () => {
    const link = join(root, "link");
    symlinkSync(home, link);
    const { delegate, tools } = bound(await open());
    for (const workspace of [home, root, "/", link, join(home, ".local/share")]) {
      mkdirSync(join(home, ".local/share"), { recursive: true });
      const refused = {
        code: "refused-by-policy",
        message: expect.stringContaining("force: true"),
      };
      await expect(delegate({ ...task, workspace })).rejects.toMatchObject(refused);
      await expect(tools({ workspace })).rejects.toMatchObject(refused);
    }
    await mandate?.close();
    const forced = bound(await open({ force: true }));
    const result = await forced.delegate({ ...task, workspace: home });
    expect(result).toMatchObject({ status: "completed" });
    expect(existsSync(join(home, "note.txt"))).toBe(true);
  });
});

describe("the home folder that a program names in its environment", () => {
  test("is where its files are read and its data is kept", async () => {
    const config = join(home, ".config/mandate");
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "config.yaml"), "limits: { runTokens: 4321 }\n");
    mkdirSync(join(config, "agents"));
    const agent = "---\nname: own\ndescription: Mine.\ncapabilities: [subtask]\n---\nHello.\n";
    writeFileSync(join(config, "agents/own.md"), agent);
    const opened = await open();
    expect(opened.profiles().map(({ name }) => name)).toContain("own");
    await opened.delegate(task);
    expect(existsSync(join(home, ".local/share/mandate/mandate.db"))).toBe(true);
  });

  test("is what ~ means in its files", async () => {
    const config = join(home, ".config/mandate");
    mkdirSync(config, { recursive: true });
    const text = 'agents: { delegation: { profiles: { directory: "~/my agents" } } }\n';
    writeFileSync(join(config, "config.yaml"), text);
    mkdirSync(join(home, "my agents"));
    const agent = "---\nname: own\ndescription: Mine.\ncapabilities: [subtask]\n---\nHello.\n";
    writeFileSync(join(home, "my agents/own.md"), agent);
    expect((await open()).profiles().map(({ name }) => name)).toContain("own");
  });
});

describe("the configuration that a program gives", () => {
  test("may be a part of one, and the defaults fill in the rest", async () => {
    const opened = await open({ config: { limits: { runTokens: 5000 } } });
    const result = await opened.delegate({ ...task, workspace: project });
    expect(result).toMatchObject({ status: "completed" });
    expect(existsSync(join(project, "note.txt"))).toBe(true);
    await opened.close();
    expect(await (await open({ config: {} })).delegate(task)).toMatchObject({
      status: "completed",
    });
  });

  test("stands in place of files and environment, below the flags", async () => {
    writeFileSync(join(project, "mandate.yaml"), "tools: { shell: { enabled: false } }\n");
    const opened = await open({
      config: { agents: { delegation: { tokenBudget: { default: 700 } } } },
      environment: { HOME: home, MANDATE_TOKENS: "9999", PATH: process.env["PATH"] },
    });
    const { delegationId } = await opened.delegate(task);
    const contracts: unknown[] = [];
    for await (const event of opened.events({ delegationId })) contracts.push(event.payload);
    expect(JSON.stringify(contracts)).not.toContain("9999");
  });

  test.each([
    [{ limits: { runTokens: -1 } }, /^config: .*limits\.runTokens/],
    [{ limits: { runToken: 1 } }, /^config: unknown key "runToken"; did you mean "runTokens"\?/],
    [{ models: "x" }, /^config: .*models/],
    [null, /^config: /],
    [[], /^config: /],
  ])("%j is refused with a sentence that names the key", async (config, says) => {
    const wrong = { config } as unknown as MandateOptions;
    await expect(open(wrong)).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringMatching(says),
    });
  });
});

function bound(opened: Mandate) {
  return {
    control: opened.control,
    delegate: (parameters: Parameters<Mandate["delegate"]>[0]) => opened.delegate(parameters),
    tools: (session: Parameters<Mandate["tools"]>[0]) => opened.tools(session),
  };
}
