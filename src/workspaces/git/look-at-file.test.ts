import { join } from "node:path";
import { expect, test } from "vitest";
import { repeatBeside } from "../busy-thread.test-support.ts";
import { lookAtFile } from "./look-at-file.ts";
import { makeFolder } from "./repository.test-support.ts";

test("a file that goes while it is looked at is nothing that fails", async () => {
  const place = join(makeFolder(), "file");
  const seen = new Set<string>();
  const come = "fs.writeFileSync(place, 'x'); fs.unlinkSync(place);";
  const replace = "fs.symlinkSync('x', place); fs.unlinkSync(place);";
  await repeatBeside(`${come} ${replace}`, place, async () => {
    for (let look = 0; look < 500; look++) seen.add((await lookAtFile(place, "sha1")).kind);
  });
  expect([...seen]).toEqual(expect.arrayContaining(["entry", "nothing"]));
});
