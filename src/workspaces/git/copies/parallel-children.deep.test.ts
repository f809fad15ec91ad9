import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { cases } from "../../../testing/cases.test-support.ts";
import { until } from "../../../testing/until.ts";
import { integrate } from "../integration/integrate.ts";
import {
  type Contents,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { collectChanges } from "./collect-changes.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { discardWorkingCopy } from "./discard-working-copy.ts";

const rounds = cases(100, 6);

const lines = (first: string, last: string): string => `${first}\n${"-\n".repeat(8)}${last}\n`;
const before = { "one.txt": "1\n", "two.txt": "2\n", "both.txt": lines("top", "bottom") };

test("children that work in parallel give the same tree in any order of finishing", {
  timeout: 900_000,
}, async () => {
  const source = makeRepository(before);
  const home = makeFolder();
  const left: Contents[] = [
    { "one.txt": "child one\n", "both.txt": lines("one", "bottom"), "new/one": "1\n" },
    { "two.txt": null, "both.txt": lines("top", "two"), "new/two": "2\n" },
  ];
  const seen = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const work = left.map(async (files, step) => {
      const copy = await createWorkingCopy({ source, id: `r${round}s${step}`, home });
      await sleep(Math.random() * 20);
      writeFiles(copy.root, files);
      return { copy, changes: await collectChanges(copy) };
    });
    const finished = await Promise.all(work);
    // In order of their steps; the queue keeps the order of the calls.
    const results = await Promise.all(finished.map((one) => integrate(one)));
    const summary = results.map((result) => [result.status, "how" in result && result.how]);
    seen.add(JSON.stringify([summary, treeOf(source)]));
    for (const { copy } of finished) await discardWorkingCopy(copy);
    rmSync(join(source, "new"), { recursive: true });
    writeFiles(source, before);
  }
  const after = {
    "both.txt": lines("one", "two"),
    "new/one": "1\n",
    "new/two": "2\n",
    "one.txt": "child one\n",
  };
  const order = [
    ["merged", "fast-forward"],
    ["merged", "three-way"],
  ];
  expect([...seen]).toEqual([JSON.stringify([order, after])]);
});

const writer = `
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const [path, stop] = process.argv.slice(1);
let count = 0;
while (!existsSync(stop)) {
  count += 1;
  const text = "person " + count + "\\n" + "-\\n".repeat(8) + "bottom\\n";
  if (count % 2 === 0) writeFileSync(path, text);
  else { writeFileSync(path + "~", text); renameSync(path + "~", path); }
  await sleep(count % 4);
}
process.stdout.write(String(count));
`;

test("a person who saves the same file all the time loses no save", {
  timeout: 120_000,
}, async () => {
  const home = makeFolder();
  const statuses: string[] = [];
  for (let round = 0; round < rounds / 2; round++) {
    const source = makeRepository({ ...before, ".gitignore": "*~\n" });
    const copy = await createWorkingCopy({ source, id: `round${round}`, home });
    writeFiles(copy.root, { "both.txt": lines("top", "child"), "one.txt": "child\n" });
    const changes = await collectChanges(copy);
    const stop = join(home, `stop-${round}`);
    const both = join(source, "both.txt");
    const args = ["--input-type=module", "-e", writer, both, stop];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let count = "";
    child.stdout.on("data", (chunk) => {
      count += chunk;
    });
    const ended = new Promise((resolve) => child.on("close", resolve));
    await until("the person saves", () => readFileSync(both, "utf8").startsWith("person"));
    for (let merges = 0; child.exitCode === null; merges++) {
      if (merges === 4) writeFileSync(stop, "");
      // Forgotten, so that it is merged again and again: the next save has thrown it out.
      rmSync(join(home, "copies", copy.id, "outcome.json"), { force: true });
      statuses.push((await integrate({ copy, changes })).status);
    }
    await ended;
    const [first] = readFileSync(both, "utf8").split("\n");
    expect(first).toBe(`person ${count}`);
    expect(Object.keys(treeOf(source)).filter((path) => path.includes("mandate"))).toEqual([]);
  }
  expect(statuses.length).toBeGreaterThanOrEqual(rounds / 2);
});
