import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { bindWorkspace } from "./bind-workspace.ts";
import { openFile } from "./open-file.ts";
import { readWholeFile } from "./read-whole-file.ts";
import { replaceFile } from "./replace-file.ts";
import { walkFolder } from "./walk-folder.ts";

/** Swaps a folder with a link to the outside as fast as it can, until it is told to stop. */
const swapper = `
  const { renameSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const { folder, link, spare, stop } = workerData;
  const stopped = new Int32Array(stop);
  let swaps = 0;
  function replace(from, to) {
    for (;;) {
      // A write that met the gap creates the folder anew.
      try { return renameSync(from, to); } catch { renameSync(to, spare + Math.random()); }
    }
  }
  while (Atomics.load(stopped, 0) === 0) {
    renameSync(folder, spare);
    replace(link, folder);
    renameSync(folder, link);
    replace(spare, folder);
    swaps += 1;
  }
  parentPort.postMessage(swaps);
`;

test("a folder that is swapped with a link in a race never lets a call out", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "mandate-race-")));
  const root = join(base, "app");
  const outside = join(base, "outside");
  mkdirSync(join(root, "folder/deep"), { recursive: true });
  mkdirSync(join(outside, "deep"), { recursive: true });
  for (const [place, content] of [
    [join(root, "folder"), "inside"],
    [outside, "CANARY"],
  ] as const) {
    writeFileSync(join(place, "a.txt"), content);
    writeFileSync(join(place, "deep/a.txt"), content);
  }
  writeFileSync(join(outside, "only-outside"), "");
  symlinkSync(outside, join(root, "link"));
  const stop = new SharedArrayBuffer(4);
  const paths = { folder: join(root, "folder"), link: join(root, "link") };
  const workerData = { ...paths, spare: join(root, "spare"), stop };
  const worker = new Worker(swapper, { eval: true, workerData });
  const finished = new Promise<number>((done) => worker.once("message", done));
  await new Promise((online) => worker.once("online", online));

  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: true });
  let inside = 0;
  let denied = 0;
  let escapes = 0;
  const end = Date.now() + 1200;
  for (let round = 0; round < 20_000 && Date.now() < end; round += 1) {
    // The folder in the middle of a path is what no flag of open(2) protects.
    const path = round % 4 === 0 ? "folder/a.txt" : "folder/deep/a.txt";
    try {
      const file = openFile(binding, path);
      const text = readWholeFile(file.descriptor, 100)?.toString();
      file.close();
      if (text === "CANARY") escapes += 1;
      else inside += 1;
    } catch {
      denied += 1;
    }
    if (round % 8 === 0) {
      await replaceFile(binding, `folder/new-${round % 3}/x`, Buffer.from(`${round}`)).catch(
        () => 0,
      );
      for await (const entry of listOrNothing(binding)) {
        if (entry.name === "only-outside") escapes += 1;
      }
    }
  }
  Atomics.store(new Int32Array(stop), 0, 1);
  const swaps = await finished;

  expect(escapes).toBe(0);
  expect(readdirSync(outside).sort()).toEqual(["a.txt", "deep", "only-outside"]);
  expect(existsSync(join(outside, "deep/x"))).toBe(false);
  // Otherwise the race was not run.
  expect(swaps).toBeGreaterThan(1000);
  expect(inside).toBeGreaterThan(0);
  expect(denied).toBeGreaterThan(0);
  rmSync(base, { recursive: true, force: true });
}, 10_000);

async function* listOrNothing(binding: ReturnType<typeof bindWorkspace>) {
  try {
    yield* walkFolder(binding, "folder", { descend: () => false });
  } catch {
    // Denied, or gone for the moment.
  }
}
