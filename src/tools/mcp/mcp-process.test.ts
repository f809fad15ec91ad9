import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { isAlive } from "./opened.test-support.ts";
import { stdioServerPath } from "./stdio-server.test-support.ts";

const run = promisify(execFile);
const entry = pathToFileURL(`${import.meta.dirname}/mcp-servers.ts`).href;

/** A program of its own, since what is asked is what happens to a whole process. */
async function runProgram(text: string): Promise<string> {
  const program = `
    import { registerHooks } from "node:module";
    let loaded = 0;
    registerHooks({
      resolve(name, context, next) {
        if (name.startsWith("@modelcontextprotocol/")) loaded++;
        return next(name, context);
      },
    });
    const { mkdtempSync, rmSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/mandate-servers-");
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const { McpServers } = await import(${JSON.stringify(entry)});
    const servers = new McpServers({ environment: process.env, version: "0", folder });
    const server = {
      kind: "stdio",
      command: process.execPath,
      args: [${JSON.stringify(stdioServerPath)}, "legacy"],
    };
    const scope = { delegationId: "a", workspace: process.cwd(), isOwn: true };
    ${text}`;
  const args = ["--input-type=module", "-e", program];
  const { stdout } = await run(process.execPath, args, { timeout: 60_000 });
  return stdout.trim();
}

it("loads nothing of the protocol before a server is opened", async () => {
  const said = await runProgram(`
    const before = loaded;
    await servers.open("x", server, scope);
    console.log(before, loaded > 0);
    await servers.close();`);
  expect(said).toBe("0 true");
});

it.each([
  ["ends by itself", ""],
  ["calls exit", "process.exit(0);"],
])("a program that forgets to close and %s leaves no server behind", async (_, ending) => {
  const pid = await runProgram(`
    const tools = await servers.open("x", server, scope);
    const where = tools.find(({ name }) => name === "mcp__x__where");
    const { text } = await where.execute({}, { signal: new AbortController().signal });
    console.log(JSON.parse(text).pid);
    ${ending}`);
  expect(Number(pid)).toBeGreaterThan(0);
  await until("the server has ended", () => !isAlive(Number(pid)));
});
