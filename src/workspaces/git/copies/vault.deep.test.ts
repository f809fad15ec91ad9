import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runOnFullDisk } from "../../../testing/run-on-full-disk.test-support.ts";
import { makeFolder } from "../repository.test-support.ts";
import { createVault } from "./vault.ts";

test.skipIf(process.platform === "win32")(
  "new ignore rules that do not fit on the disk leave the old ones in force",
  () => {
    const vault = makeFolder();
    const place = { objectFormat: "sha1", objects: [], shallow: "" } as const;
    createVault(vault, place, "node_modules/\n");
    const script = `
import { updateVault } from ${JSON.stringify(join(import.meta.dirname, "vault.ts"))};
try {
  updateVault(process.argv[1], { shallow: "" }, "x\\n".repeat(50_000) + "node_modules/\\n");
} catch (error) {
  console.log(error.code);
}`;
    expect(runOnFullDisk(script, vault)).toBe("EFBIG");
    expect(readFileSync(join(vault, "info/exclude"), "utf8")).toBe("node_modules/\n");
  },
);
