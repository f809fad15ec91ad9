import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readWholeFile } from "../files.ts";
import { bindWorkspace } from "./bind-workspace.ts";
import { startSwapper } from "./folder-swapper.test-support.ts";
import { openFile } from "./open-file.ts";
import { replaceFile } from "./replace-file.ts";
import { walkFolder } from "./walk-tree.ts";

const leastRounds = 2000;

test("a folder that is swapped with a link in a race never lets a call out", async () => {
  const swapper = await startSwapper();
  const { root, outside } = swapper;
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: true });
  let inside = 0;
  let denied = 0;
  let escapes = 0;
  // Until the race was run, and neither side always won.
  const isEnough = () => swapper.swaps > 1000 && inside > 0 && denied > 0;
  for (let round = 0; round < leastRounds || !isEnough(); round += 1) {
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
  await swapper.stop();
  expect(escapes).toBe(0);
  expect(readdirSync(outside).sort()).toEqual(["a.txt", "deep", "only-outside"]);
  expect(existsSync(join(outside, "deep/x"))).toBe(false);
  swapper.remove();
});

async function* listOrNothing(binding: ReturnType<typeof bindWorkspace>) {
  try {
    yield* walkFolder(binding, "folder", { descend: () => false });
  } catch {
    // Denied, or gone for the moment.
  }
}
