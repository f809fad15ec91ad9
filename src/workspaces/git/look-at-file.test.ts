import { join } from "node:path";
import { test } from "vitest";
import { repeatBeside } from "../busy-thread.test-support.ts";
import { lookAtFile } from "./compare-files.ts";
import { makeFolder } from "./repository.test-support.ts";

test("a file that goes while it is looked at is nothing that fails", async () => {
  const place = join(makeFolder(), "file");
  const seen = new Set<string>();
  const come = "fs.writeFileSync(place, 'x'); fs.unlinkSync(place);";
  const replace = "fs.symlinkSync('x', place); fs.unlinkSync(place);";
  const look = async () => void seen.add((await lookAtFile(place, "sha1")).kind);
  const hasSeenBoth = () => seen.has("entry") && seen.has("nothing");
  await repeatBeside(`${come} ${replace}`, place, look, 500, hasSeenBoth);
});
