import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

/** What the check says of a tree with these files in it. */
function check(files: Readonly<Record<string, string>>): { code: number | null; said: string } {
  const folder = testFolder();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const script = join(import.meta.dirname, "check-time.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, folder], { encoding: "utf8" });
  return { code: status, said: stdout };
}

/** Those of the texts that the check accepts, each in a file of its own. */
function unnoticed(texts: readonly string[], name: (index: number) => string): readonly string[] {
  const files = Object.fromEntries(texts.map((text, index) => [name(index), text]));
  const { code, said } = check(files);
  expect(code).toBe(1);
  return texts.filter((_, index) => !said.includes(`${name(index)}:`));
}

const promised = 'import { setTimeout as delay } from "node:timers/promises";\n';

test("every way to wait for a duration, or to measure one, is found in a test", () => {
  const texts = [
    "expect(performance.now() - began).toBeLessThan(1000);",
    "const began = process.hrtime.bigint();",
    "expect(Date.now() - began).toBeLessThan(1000);",
    "expect(end - Date.now()).toBe(0);",
    "while (Date.now() < end);",
    "if (end <= Date.now()) return;",
    "await page.waitForTimeout(100);",
    "await new Promise((resolve) => setTimeout(resolve, 51));",
    "await new Promise((resolve) => setTimeout(() => resolve(one(1, 2)), 1_000));",
    "const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));",
    "setTimeout(\n  () => child.kill(),\n  Math.random() * 300\n);",
    `${promised}await delay(1000);`,
    `${promised}await delay(100 - elapsed);`,
    'import { setTimeout } from "node:timers/promises";\nawait setTimeout(200);',
  ];
  expect(unnoticed(texts, (index) => `src/tools/x${index}.test.ts`)).toEqual([]);
});

test("the ways around are found as well", () => {
  const texts = [
    "const began = Date.now();\nawait work();\nconst ended = Date.now();\nexpect(ended - began).toBeLessThan(900);",
    "const end: number = Date.now();\nwhile (last < end) await look();",
    "expect(new Date().getTime() - began).toBeLessThan(1000);",
    "const took = systemClock.monotonic() - began;",
    "const marks = performance.measure('work');",
    "const { now } = performance;",
    "const began = process.uptime();",
    "expect(result.duration).toBeLessThan(2000);",
    "expect(Math.max(...cut.map(({ took }) => took))).toBeLessThan(2500);",
    "await new Promise((resolve) => globalThis.setTimeout(resolve, 500));",
    'import * as timers from "node:timers/promises";\nawait timers.setTimeout(500);',
    'const { setTimeout: delay } = await import("node:timers/promises");\nawait delay(500);',
    'import { setTimeout as delay } from "timers/promises";\nawait delay(500);',
    'import { scheduler } from "node:timers/promises";\nawait scheduler.wait(500);',
    "const pause = promisify(setTimeout);\nawait pause(500);",
    "await sleep(systemClock, 500);",
    'await once(AbortSignal.timeout(500), "abort");',
    'execFileSync("sleep", ["1"]);',
    "await vi.waitFor(() => expect(calls).toBe(1));",
    "await expect.poll(look, { timeout: 2000, interval: 5 }).toBe(true);",
    'await row.waitFor({ state: "visible", timeout: 5000 });',
    'test("ends", { timeout: 5000 }, async () => work());',
    'test("ends", async () => {\n  await work();\n}, 5000);',
    'describe("it", () => {\n  it("ends", async () => {\n    await work();\n  }, 5_000);\n});',
  ];
  expect(unnoticed(texts, (index) => `src/tools/x${index}.test.ts`)).toEqual([]);
  expect(unnoticed(texts, (index) => `src/testing/x${index}.ts`)).toEqual([]);
});

test("short pauses, moments and files of deadlines are left alone", () => {
  const long = "expect(performance.now() - began).toBeLessThan(5000);";
  expect(
    check({
      "src/a.test.ts": "await new Promise((resolve) => setTimeout(resolve, 5));",
      "src/b.test.ts": `${promised}await delay(50);\nawait delay(seed % 30);`,
      "src/c.test.ts": "setTimeout(stop, Math.random() * 4);",
      "src/d.test.ts": "const host = { startedAt: Date.now(), now: () => Date.now() + 60_000 };",
      "src/e.test.ts": "// took performance.now() - began",
      "src/f.test.ts": "socket.setTimeout(1000);",
      "src/g.test.ts": 'test("ends", { timeout: 90_000 }, async () => work());',
      "src/h.test.ts": "await expect.poll(look).toBe(true);\nawait sleep(systemClock, 20);",
      "src/i.test.ts": 'const input = { task: "x", timeout: 300 };\nclient.start({ timeout: 50 });',
      "src/j.test.ts": "const now = Date.now();\nconst later = { at: now + 5, to: now - 30_000 };",
      "src/k.test.ts": "expect(result.duration).toBeGreaterThanOrEqual(0);",
      "src/testing/until.ts": "if (performance.now() > giveUpAt) throw new Error();",
      "src/recovery.deadline.test.ts": long,
    }),
  ).toEqual({ code: 0, said: "" });
});

test("a source that is given a clock has no time of its own", () => {
  const texts = [
    "const at = Date.now();",
    "const wait = Math.random() * 5;",
    "const timer = setTimeout(end, 5);",
    "setInterval(look, 5).unref();",
    'import { setTimeout as wait } from "node:timers/promises";',
    "fetch(url, { signal: AbortSignal.timeout(5) });",
    "const began = performance.now();",
    "globalThis.setTimeout(end, 5);",
    'import { setInterval } from "timers/promises";',
  ];
  expect(unnoticed(texts, (index) => `src/stores/x${index}.ts`)).toEqual([]);
  const harmless = 'import { setImmediate as nextTurn } from "node:timers/promises";';
  expect(check({ "src/stores/x.ts": harmless, "src/contracts/x.ts": "Date.now();" }).code).toBe(0);
});
