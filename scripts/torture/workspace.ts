import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { initRepository } from "../../src/testing/git-workspace.test-support.ts";

/** The folder that the children work in: nobody writes below docs/. */
export function createWorkspace(folder: string, isRepository = false): void {
  mkdirSync(join(folder, "docs", "more"), { recursive: true });
  const lines = Array.from({ length: 200 }, (_, index) => `line ${index + 1}`).join("\n");
  writeFileSync(join(folder, "docs", "long.md"), `${lines}\n`);
  writeFileSync(join(folder, "docs", "large.md"), `${lines}\n`.repeat(60));
  writeFileSync(join(folder, "docs", "north.md"), "It is cold there.\n");
  writeFileSync(join(folder, "docs", "south.md"), "It is warm there.\n");
  writeFileSync(join(folder, "docs", "more", "east.md"), "It is early there.\n");
  if (isRepository) initRepository(folder, { "README.md": "Nothing to see.\n" });
}
