// The lockfile carries versions and hashes only: with a "resolved" address in it, everyone would
// install from the registry that the last writer happened to use.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const lockfile = JSON.parse(
  readFileSync(join(dirname(import.meta.dirname), "package-lock.json"), "utf8"),
);
const offenders = Object.entries(lockfile.packages)
  .filter(([, { resolved, link }]) => resolved !== undefined && !link)
  .map(([path]) => path);

for (const path of offenders) console.log(`package-lock.json: ${path} has a "resolved" address.`);
if (offenders.length > 0) {
  console.log(
    "Run `npm install --package-lock-only --omit-lockfile-registry-resolved` and commit the result.",
  );
  process.exitCode = 1;
}
