import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

/** What the check says of a tree in which one file has this text. */
function check(text: string, path = "src/sessions/x.ts"): string {
  const folder = testFolder();
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  const script = join(import.meta.dirname, "check-tool-names.mjs");
  return spawnSync(process.execPath, [script, folder], { encoding: "utf8" }).stdout;
}

test("every way to know a built-in tool by its name is found", () => {
  for (const text of [
    'if (event.payload.tool === "memory_save") return;',
    "const polling = new Set(['spawn_await']);",
    "if (`load_skill` === other) return;",
    "const effects = {\n  write_file: true,\n};",
    "return marks.ask_user;",
    'if (tool === "shell") return;',
    'if ("grep" !== call.name) return;',
    'return toolbox.get("spawn");',
    'return allowedTools.includes("glob");',
    'return includes(permissions.allowed_tools, "shell");',
    'start({ tools: ["shell"] });',
  ]) {
    expect({ text, said: check(text) }).toEqual({
      text,
      said: expect.stringMatching(/^src\/sessions\/x\.ts knows a tool by its name/),
    });
  }
});

test("ordinary words, sentences, comments and the places of names are not meant", () => {
  for (const text of [
    'if (way === "spawn") return;',
    'if (tool?.effect === "spawn") return;',
    'within(["tools", "shell", "enabled"], pick);',
    'const view = { view: "search" };',
    'throw new Error("Look again with list_files, then retry.");',
    '// It was tool === "shell" once, and "memory_save".',
    'if (tool === "own_tool") return;',
  ]) {
    expect({ text, said: check(text) }).toEqual({ text, said: "" });
  }
  const naming = 'if (tool === "memory_save") return;';
  for (const path of [
    "src/tools/gate.ts",
    "src/events/upcast.ts",
    "src/agents/foreign/tool-reference.ts",
    "src/sessions/x.test.ts",
  ]) {
    expect({ path, said: check(naming, path) }).toEqual({ path, said: "" });
  }
  expect(check(naming, "src/events/upcast.ts.ts")).not.toBe("");
});
