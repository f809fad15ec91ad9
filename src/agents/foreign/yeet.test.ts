import { expect, test } from "vitest";
import { foreignFiles } from "./foreign-files.test-support.ts";

const { agent, read, write } = foreignFiles();

const profile = (more: object) =>
  JSON.stringify({ id: "Oracle", description: "Thinks.", model: "openai/gpt-5", ...more });

test("yeet: id, prompt file, modes of tools, workspace and overrides", () => {
  write("yeet/oracle.md", "You think.");
  const { fields, file, name } = agent(
    "yeet/oracle.json",
    profile({
      promptPath: "oracle.md",
      temperature: 0.2,
      capabilities: ["subtask", "primary"],
      tools: {
        read: { enabled: true, mode: "read" },
        search: true,
        bash: { enabled: true, mode: "read" },
        write: { enabled: false },
        edit: { enabled: "yes" },
      },
      defaultWorkspace: { mode: "custom", customPath: "docs" },
      permissionOverrides: { allowNetwork: false, allowShell: false },
    }),
  );
  expect([file.format, name]).toEqual(["yeet", "oracle"]);
  expect(fields).toMatchObject({
    prompt: "You think.",
    capabilities: ["primary", "subtask"],
    model: { model: "openai/gpt-5", temperature: 0.2 },
    tools: ["read_file", "grep"],
    network: [],
    workspace: { isolation: "custom", folder: "docs" },
  });
  const denied = fields.toolRules?.map(({ tool }) => tool);
  expect(denied).toEqual(expect.arrayContaining(["shell", "web_fetch", "web_search"]));
});

test.each([
  [{ permissionOverrides: { allowWrites: false } }, false],
  [{ permissionOverrides: { allowWrites: "no" } }, false],
  [{ defaultWorkspace: { mode: "sandbox", allowWrites: false } }, false],
  [{ defaultWorkspace: { allowWrites: false }, permissionOverrides: { allowWrites: true } }, true],
  [{ defaultWorkspace: { allowWrites: true }, capabilities: ["watcher"] }, false],
])("yeet: %j decides about writing: %s", (more, canWrite) => {
  const { fields } = agent("yeet/writes.json", profile(more));
  expect(fields.workspace?.allowWrites).toBe(canWrite ? undefined : false);
});

test("yeet: a workspace outside becomes a copy, and what restricts in no known form is refused", () => {
  const { fields, loss } = agent(
    "yeet/outside.json",
    profile({ defaultWorkspace: { mode: "custom", customPath: "/etc" } }),
  );
  expect(fields.workspace).toEqual({ isolation: "sandbox" });
  expect(loss).toMatchObject([{ field: "defaultWorkspace.customPath", kind: "narrowed" }]);
  expect(read("yeet/odd.json", profile({ permissionOverrides: "read" })).status).toBe("error");
});

test.each([
  { permissionOverrides: { allowShel: false } },
  { permissionOverrides: { allow_shell: false } },
  { permissionOverrides: { readOnly: true } },
  { permissionOverrides: { denyShell: true } },
  { permissionOverride: { allowShell: false }, promptPath: "" },
  { defaultWorkspace: { allowwrites: false } },
  { promptPath: "", capabilities: ["Watcher"] },
  { promptPath: "", capabilities: "watcher" },
])("yeet: %j restricts with a word that is not known, and is refused", (more) => {
  const { agents, status } = read("yeet/typo.json", profile(more));
  expect([agents, status]).toEqual([[], "error"]);
});

test.each(["READ", "readonly", "ask", "off", 7, null])(
  "yeet: the mode %j grants no tool",
  (mode) => {
    const tools = { read: true, bash: { enabled: true, mode } };
    expect(agent("yeet/mode.json", profile({ promptPath: "", tools })).fields.tools).toEqual([
      "read_file",
    ]);
  },
);

test("yeet: a configuration holds several profiles", () => {
  const agents = { one: { model: "a/b", promptPath: "gone.md", description: "d" }, two: 7 };
  const { agents: found, status } = read("yeet/config.json", JSON.stringify({ agents }));
  expect([found.map(({ name }) => name), status]).toEqual([["one"], "error"]);
});
