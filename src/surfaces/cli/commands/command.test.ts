import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const playbook = 'version: 1\nreplies:\n  - text: "Because of the clock."\n';

test("a command that only reads is answered on standard output, and as data", async () => {
  expect(await desk.type(["command", "/status"])).toEqual({
    code: 0,
    out: "Nothing runs.\n",
    err: "",
  });
  const help = await desk.type(["command", "/help", "cancel"]);
  expect(help.out).toBe(
    "Commands:\n/cancel <id>: Cancels a run or a delegation, with everything below it. It can be resumed.\n",
  );
  const { out } = await desk.type(["command", "--json", "/inbox open"]);
  expect(JSON.parse(out)).toEqual([]);
});

test("an agent that a command starts is worked on to its end", async () => {
  const file = join(desk.folder, "answers.yaml");
  writeFileSync(file, playbook);
  const typed = await desk.type([
    "command",
    "--playbook",
    file,
    "/oracle",
    "Why",
    "is",
    "it slow?",
  ]);
  expect(typed.err).toMatch(/Started oracle#[0-9a-f]{6} in run r[0-9a-f]{6}\./);
  expect(typed).toMatchObject({ code: 0, out: "Because of the clock.\n" });
  const tree = await desk.type(["command", "/tree"]);
  expect(tree.out).toMatch(/^Run r[0-9a-f]{6} succeeded: Why is it slow\?\n- oracle#/);
});

test("what was typed wrong ends with 2, what a role does not allow with 3", async () => {
  const wrong = await desk.type(["command", "/cancel", "everything"]);
  expect(wrong).toMatchObject({ code: 2, out: "" });
  expect(wrong.err).toContain("Usage: /cancel <id>");
  expect((await desk.type(["command", "status"])).err).toContain("A command begins with a slash");
  const refused = await desk.type(["command", "--role", "viewer", "/oracle why"]);
  expect(refused).toMatchObject({ code: 3, out: "" });
  expect(refused.err).toContain("Starting an agent requires operator access.");
});

test("a session that is named keeps what was said of its workspace", async () => {
  const say = (...words: string[]) => desk.type(["command", ...words, "--session-id", "s1"]);
  expect((await say("/workspace readonly")).out).toContain("read-only");
  expect((await say("/workspace")).out).toContain("read-only");
  expect((await desk.type(["command", "/workspace"])).out).toContain("writable");
  expect((await say("--read-only", "/workspace writable")).code).toBe(3);
});
