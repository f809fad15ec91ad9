import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../workspaces/processes/find-program.ts";
import {
  desktopEnvironment,
  temporaryFolder,
} from "../../workspaces/processes/program-environment.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};
const keptMs = 60_000;

/**
 * Opens an address in the person's browser, if there is one. Every user of a machine can read the
 * arguments of processes, and the address lets its first visitor in: so the browser gets a file that
 * only its owner can read, and that redirects to the address.
 */
export function openBrowser(url: string): void {
  const folder = mkdtempSync(join(temporaryFolder(), "mandate-open-"));
  const file = join(folder, "open.html");
  const link = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  writeFileSync(file, `<meta http-equiv="refresh" content="0;url=${link}">\n`, { mode: 0o600 });
  setTimeout(() => rmSync(folder, { recursive: true, force: true }), keptMs).unref();
  const [name = "xdg-open", ...words] = openers[process.platform] ?? [];
  const finding = findProgram(name);
  if (!finding.isFound) return;
  const child = startProgram(
    {
      program: finding.program,
      args: [...words, file],
      environment: desktopEnvironment(process.env),
      leadsGroup: true,
    },
    ["ignore", "ignore", "ignore"],
  );
  child.on("error", () => undefined);
  child.unref();
}
