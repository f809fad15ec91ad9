import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import sparticuz from "@sparticuz/chromium";

/** Unpacks the browser, and builds the page as for people; says where the page lies. */
export async function preparePage(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), "mandate-dashboard-"));
  // In a process of its own: in that of a test everything is built for developing.
  const vite = join(
    dirname(createRequire(import.meta.url).resolve("vite/package.json")),
    "bin/vite.js",
  );
  const words = [vite, "build", import.meta.dirname, "--outDir", outDir, "--emptyOutDir"];
  const env = { ...process.env, NODE_ENV: "production" };
  const built = promisify(execFile)(process.execPath, words, { env });
  // Two that unpack it at once would be in each other's way.
  await Promise.all([sparticuz.executablePath(), built]);
  return outDir;
}
