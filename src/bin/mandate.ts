#!/usr/bin/env node
import { readFileSync } from "node:fs";

const typed = process.argv.slice(2);

// Asked by scripts and by people in a hurry: answered before anything else is loaded.
if (typed[0] === "--version" || typed[0] === "-V") {
  const about = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  process.stdout.write(`${JSON.parse(about).version}\n`);
} else {
  const { main } = await import("../surfaces/cli/main.ts");
  const { processIo } = await import("../surfaces/cli/process-io.ts");
  const code = await main(typed, processIo());
  // A request that a provider never answers must not keep the terminal after the work is done.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
}
