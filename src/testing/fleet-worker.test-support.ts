/** A worker as a process of its own, for tests that kill it. */
import { flushCompileCache } from "node:module";
import { scriptedModel } from "../models/scripted/scripted-model.ts";
import { formatLog } from "../ports/log.ts";
import { createRuntime } from "../runtime.ts";
import { startWorker } from "../start-worker.ts";
import { spokenScript } from "./spoken-script.test-support.ts";

const atOnce = Number(process.env["FLEET_AT_ONCE"] ?? 10);
const runtime = await createRuntime({
  consent: "named",
  scripted: scriptedModel(spokenScript(process.env["FLEET_NOTES"])),
  maxConcurrent: atOnce,
  limits: { runTokens: 1_000_000_000, maxTokens: 500_000_000 },
});
const worker = await startWorker({
  runtimes: [runtime],
  log: (entry) => process.stderr.write(formatLog(entry, "text", Date.now())),
});
process.on("SIGTERM", () => {
  void worker
    .drain(Number(process.env["FLEET_GRACE_MS"] ?? 1000))
    .then(() => runtime.close())
    .then(() => process.exit(0));
});
// Whoever is killed leaves the next one nothing, unless it does so now.
flushCompileCache();
process.send?.("ready");
// Nobody is left who could end it.
process.on("disconnect", () => process.exit(1));
