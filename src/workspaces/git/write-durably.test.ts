import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, runOnFullDisk } from "./repository.test-support.ts";
import { writeDurably } from "./write-durably.ts";

test.skipIf(process.platform === "win32")(
  "what the disk takes only a part of is an error, and the old file stays, and nothing else",
  () => {
    const folder = makeFolder();
    const path = join(folder, "file");
    writeDurably(path, "old");
    const script = `
import { writeDurably } from ${JSON.stringify(join(import.meta.dirname, "write-durably.ts"))};
try {
  writeDurably(process.argv[1], "new".repeat(50_000));
  console.log("written");
} catch (error) {
  console.log(error.code);
}`;
    expect(runOnFullDisk(script, path)).toBe("EFBIG");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["file"]);
  },
);
