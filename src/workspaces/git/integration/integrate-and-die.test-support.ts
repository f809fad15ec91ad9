import { readFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { openWorkingCopy } from "../copies/working-copy.ts";
import { integrate } from "./integrate.ts";
import { recoverIntegration } from "./recover-integration.ts";

// A process of its own: integrates, or recovers, and is killed after so many observed steps.
const [what, home = "", id = "", changesFile = "", deadAfter = "0"] = process.argv.slice(2);
let seen = 0;
// Whoever is killed leaves the next one nothing, unless it does so now.
flushCompileCache();

function observe(): void {
  seen += 1;
  if (seen === Number(deadAfter)) process.kill(process.pid, "SIGKILL");
}

if (what === "recover") await recoverIntegration(home, observe);
else {
  const changes = JSON.parse(readFileSync(changesFile, "utf8"));
  const copy = openWorkingCopy(home, id);
  await integrate({ copy, changes, observe });
}
