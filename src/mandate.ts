#!/usr/bin/env node
import { readFileSync } from "node:fs";

const typed = process.argv.slice(2);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

// Asked by scripts and by people in a hurry: answered before anything else is loaded.
if (typed[0] === "--version" || typed[0] === "-V") {
  const about = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  process.stdout.write(`${JSON.parse(about).version}\n`);
} else if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `mandate needs Node 22.18 or newer; this is ${process.version}. Install Node 24 (nodejs.org). A clone brings its own: npm run -s mandate -- help\n`,
  );
  process.exitCode = 1;
} else {
  const { keepCompiled, processIo } = await import("./surfaces/cli/process-io.ts");
  keepCompiled(process.env);
  const { main } = await import("./surfaces/cli/main.ts");
  const code = await main(typed, processIo());
  // A request that a provider never answers must not keep the terminal after the work is done.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
}
