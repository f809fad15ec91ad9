import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import type { AgentFile } from "./agent-file.ts";
import { readAgentFile } from "./read-agent-file.ts";

/** A folder that is gone after the tests of the file, and what reads the files put into it. */
export function foreignFiles() {
  const root = mkdtempSync(join(tmpdir(), "mandate-foreign-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  function write(path: string, content: string | Uint8Array): string {
    const whole = join(root, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, content);
    return whole;
  }

  function read(path: string, content: string | Uint8Array): AgentFile {
    return readAgentFile(write(path, content));
  }

  /** The one agent of a file that must be usable. */
  function agent(path: string, content: string) {
    const file = read(path, content);
    const [first, second] = file.agents;
    if (first === undefined || second !== undefined || file.status === "error") {
      throw new Error(`${file.agents.length} agents: ${JSON.stringify(file.diagnostics)}`);
    }
    return { ...first, file };
  }

  return { root, write, read, agent };
}
