import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};
const keptMs = 60_000;

/**
 * Opens an address in the person's browser; nothing happens where there is none. Arguments of
 * processes can be read by everybody on a machine, and the address lets in whoever is first: so the
 * browser is given a file that only its owner can read, and that leads there.
 */
export function openBrowser(url: string): void {
  const folder = mkdtempSync(join(tmpdir(), "mandate-open-"));
  const file = join(folder, "open.html");
  const link = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  writeFileSync(file, `<meta http-equiv="refresh" content="0;url=${link}">\n`, { mode: 0o600 });
  setTimeout(() => rmSync(folder, { recursive: true, force: true }), keptMs).unref();
  const [program = "xdg-open", ...words] = openers[process.platform] ?? [];
  const child = spawn(program, [...words, file], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
