import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commands } from "../commands.ts";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

async function offered(...typed: readonly string[]): Promise<readonly string[]> {
  const { code, err, out } = await desk.type(["completion", "words", "--", ...typed]);
  expect([code, err]).toEqual([0, ""]);
  return out.split("\n").flatMap((line) => line.split("\t")[0] || []);
}

test("commands, options, their values and the words of a command are offered", async () => {
  expect(await offered("")).toEqual([
    ...Object.keys(commands).filter((name) => !name.startsWith("/")),
    "help",
  ]);
  expect(await offered("pro")).toEqual(["profiles"]);
  expect(await offered("help", "ser")).toEqual(["serve"]);
  expect(await offered("ls", "--")).toEqual(["--json", "--limit", "--open", "--help"]);
  expect(await offered("run", "-p", "res")).toEqual([]);
  expect(existsSync(join(desk.home, "mandate.db"))).toBe(false);
  await desk.type(["ls"]);
  expect(await offered("run", "-p", "res")).toEqual(["researcher"]);
  expect(await offered("run", "--profile=res")).toEqual(["--profile=researcher"]);
  expect(await offered("run", "--json", "--background", "")).toEqual(["wait", "detach", "cancel"]);
  expect(await offered("config", "")).toEqual(["list", "get", "path"]);
  expect(await offered("profiles", "show", "code")).toEqual(["coder", "codex"]);
  for (const typed of [
    ["nosuch", "x"],
    ["run", "--playbook", ""],
    ["run", "hel"],
    ["ls", "a"],
  ]) {
    expect(await offered(...typed), typed.join(" ")).toEqual([]);
  }
});

test("runs are offered with their state and task, questions with their text", async () => {
  expect(await offered("show", "")).toEqual([]);
  expect(existsSync(join(desk.home, "mandate.db"))).toBe(false);
  const playbook = desk.write("p.yaml", "version: 1\nreplies: [{ text: Done. }]\n");
  await desk.type(["run", "-q", "--playbook", playbook, "Count\tthe \u001b[31mlamps"]);
  const { out } = await desk.type(["completion", "words", "--", "show", "r"]);
  expect(out).toMatch(/^r[0-9a-f]+\tsucceeded: Count the lamps\n$/);
  expect(await offered("resume", "")).toEqual([]);
  expect(await offered("diff", "")).toEqual([]);
  expect(await offered("answer", "")).toEqual([]);
});

test("another shell is named in a sentence", async () => {
  const { code, err } = await desk.type(["completion", "ksh"]);
  expect([code, err]).toEqual([2, expect.stringContaining("bash, zsh or fish")]);
});
