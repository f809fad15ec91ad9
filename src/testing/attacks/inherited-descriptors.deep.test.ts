import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machine, whySkipped } from "../../tools/shell/shell-fixture.test-support.ts";
import { testFolder } from "../test-folder.test-support.ts";

const program = join(import.meta.dirname, "inherited-descriptors.test-support.ts");

/** What whoever is started says of the descriptors that were open when the runtime began. */
function startWith(folder: number, root: string, script: string): ReadonlyMap<string, string> {
  const stdio: ("ignore" | "pipe" | number)[] = ["ignore", "pipe", "pipe", folder];
  for (let index = 4; index <= 60; index += 1) stdio.push(index === 60 ? folder : "ignore");
  const { stdout, stderr } = spawnSync(process.execPath, [program, root, script], {
    ...{ stdio, encoding: "utf8", cwd: root, timeout: 55_000 },
  });
  const said = stdout.split("\n").filter((line) => line.startsWith("{"));
  if (said.length < 3) throw new Error(stderr);
  return new Map(
    said.map((line) => {
      const { who, text } = JSON.parse(line) as { who: string; text: string };
      return [who, text];
    }),
  );
}

test.skipIf(!machine.isUsable)(
  `attack 15: a folder that the runtime inherited is open to nobody whom it starts${whySkipped}`,
  () => {
    const base = testFolder();
    const [root, outside] = [join(base, "work"), join(base, "outside")];
    for (const folder of [root, outside]) mkdirSync(folder);
    writeFileSync(join(outside, "key"), "CANARY");
    const folder = openSync(outside, "r");
    try {
      const each = "/proc/self/fd/$n";
      const look = `for n in 3 60; do cat ${each}/key; echo x > ${each}/planted; done; echo over`;
      const said = startWith(folder, root, look);
      expect([...said.keys()]).toEqual(["shell", "git", "server"]);
      for (const text of said.values()) {
        expect(text).toContain("over");
        expect(text).not.toContain("CANARY");
      }
      expect(readdirSync(outside)).toEqual(["key"]);
    } finally {
      closeSync(folder);
    }
  },
);
