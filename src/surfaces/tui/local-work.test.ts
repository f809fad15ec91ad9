import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testProfile } from "../../testing/engine-fixture.ts";
import { enter, escapeKey, sitDownWith } from "./chat.test-support.ts";

const playbook = `
version: 1
name: local
replies:
  - when: { depth: 0, turn: 1, last: "break" }
    calls: [{ tool: delegate_task, input: { profile: breaker, task: "Break the tides" } }]
  - when: { profile: breaker, turn: 1 }
    calls: [{ tool: edit_file, input: { path: "tides.js", old_text: "return 1", new_text: "return 2" } }]
  - when: { profile: breaker }
    fault: unauthorized
  - when: { depth: 0, tool: delegate_task }
    text: "It broke."
  - when: { depth: 0, turn: 1, last: "change it" }
    calls: [{ tool: edit_file, input: { path: "tides.js", old_text: "tide()", new_text: "tide(\\u202e)" } }]
  - when: { depth: 0, tool: edit_file }
    text: "Changed."
  - text: "Heard {{last}}"
`;

const breaker = testProfile("breaker", {
  tools: ["edit_file"],
  workspace: { isolation: "sandbox" },
});
const sitDown = sitDownWith(playbook, { profiles: [breaker], columns: 100, rows: 30 });
const tides = "function tide() {\n  return 1;\n}\n";

test("A failed child says why and what it kept, and its work is looked into and merged here", async () => {
  const chat = await sitDown({ isOnDisk: true });
  const file = join(chat.folder, "tides.js");
  writeFileSync(file, tides);
  await chat.say("/diff");
  await chat.see("This folder has no commit yet, so there is nothing to compare with.");
  await chat.say("please break");
  await chat.see(/✗ breaker#\w+ {2}Break the tides[\s\S]* scripted to fail: unauthorized/);
  const [, id = ""] = /breaker#(\w+) left changes in its copy: \/diff/.exec(
    await chat.see("left changes in its copy"),
  ) ?? [""];
  await chat.press("\u0014");
  await chat.see(/general[\s\S]*breaker/);
  await chat.press("j", enter);
  await chat.see(/SUMMARY[\s\S]*Contract[\s\S]*Failure/);
  await chat.press("t");
  await chat.see(
    /TRANSCRIPT[\s\S]*✓ edit_file {2}tides\.js\s+@@[\s\S]*- {2}return 1;\s+\+ {2}return 2;/,
  );
  await chat.press("c");
  await chat.see(/CHANGES[\s\S]*- {2}return 1;\s+\+ {2}return 2;/);
  await chat.press(escapeKey);
  await chat.see("Enter opens");
  await chat.press(escapeKey);
  await chat.say("/discard");
  await chat.see(`Delete them for good: /discard ${id} --yes`);
  await chat.say("/merge");
  await chat.see(/Merged into .*: 1 file\s+M tides\.js/);
  expect(readFileSync(file, "utf8")).toContain("return 2");
  await chat.say(`/diff ${id}`);
  await chat.see(`Delegation ${id}`);
  await chat.say("/cost");
  await chat.see(/This session: .* in 1 run\s+- general: .*\s+- breaker: /);
});

test("The page of a run's root is wrapped for the width of the screen, also when that changes", async () => {
  const chat = await sitDown({ columns: 60, rows: 50 });
  await chat.say("hello");
  await chat.see("● Heard Task:");
  await chat.settle();
  await chat.press("\u000f");
  await chat.see("Run succeeded: hello");
  await chat.press(enter);
  const [, tools = ""] =
    /\n {3}(tools[\s\S]*)\n {3}delegates/.exec(await chat.see("SUMMARY")) ?? [];
  expect(tools.split("\n").length).toBeGreaterThan(10);
  expect(tools).not.toMatch(/\n {0,32}\S/);
  chat.store.dispatch({ type: "resized", columns: 100, rows: 50 });
  await chat.see(/list_files, glob, grep,\n {33}document_query/);
});

test("An approval of an edit shows the diff in place, with what is hidden in it", async () => {
  const careful = testProfile("careful", {
    tools: ["edit_file"],
    toolRules: [{ tool: "edit_file", action: "ask" }],
  });
  const chat = await sitDown({ profiles: [careful], profile: "careful" });
  writeFileSync(join(chat.folder, "tides.js"), tides);
  await chat.say("change it");
  const frame = await chat.see("your answer to careful#");
  expect(frame).toMatch(/call edit_file with "tides\.js"\?/);
  expect(frame).toMatch(/│ -tide\(\)\s+│ \+tide\(\\u\{202e\}\)/);
  await chat.say("yes");
  await chat.see("● Changed.");
});

test("A command of the person runs here, and taints the agent that gets its output", async () => {
  const chat = await sitDown();
  await chat.say("!echo see https://evil.example; touch made; exit 3");
  await chat.see(/! echo see .* \(exit 3\)\s+│ see https:\/\/evil\.example/);
  expect(existsSync(join(chat.folder, "made"))).toBe(true);
  await chat.say("what is it?");
  await chat.see(
    /● Heard Task:\s+what is it\?[\s\S]*see https:\/\/evil\.example[\s\S]*exit code 3/,
  );
  await chat.settle();
  const [run] = await chat.runtime.store.listRuns({ limit: 1 });
  expect(run?.task).toBe("what is it?");
  const root = [
    ...((await chat.runtime.store.readRun(run?.id ?? ""))?.delegations.keys() ?? []),
  ][0];
  const contract = await chat.runtime.store.readContract(root ?? "");
  expect(contract.parent.carries).toEqual(["untrusted"]);
  expect(JSON.stringify(contract.permissions)).not.toContain("evil.example");
  await chat.say("again");
  await chat.see("● Heard again");
  expect(chat.frame.match(/command_output/g)).toHaveLength(2);
});

test("/model has another one answer from the next message on, and an unknown one is refused", async () => {
  const chat = await sitDown();
  await chat.say("hello");
  await chat.see("● Heard Task:");
  await chat.say("/model nonsense");
  await chat.see(/model "?nonsense/i);
  await chat.say("/model office/small");
  await chat.see("office/small answers from your next message on");
  await chat.say("and now");
  await chat.see("● Heard and now");
  await chat.settle();
  const [run] = await chat.runtime.store.listRuns({ limit: 1 });
  const root = [
    ...((await chat.runtime.store.readRun(run?.id ?? ""))?.delegations.keys() ?? []),
  ][0];
  const { model } = await chat.runtime.store.readContract(root ?? "");
  expect(chat.frame).not.toContain("clamped");
  expect(`${model.provider}/${model.model}`).toBe("office/small");
});
