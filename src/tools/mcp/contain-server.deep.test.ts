import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { StdioServer } from "../../contracts/mcp-server.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import { defaultLimits } from "../../workspaces/sandbox/resource-limits.ts";
import { McpServers } from "./mcp-servers.ts";
import { call, variable } from "./opened.test-support.ts";

const machine = detectSandbox(process.env);
const why = machine.isUsable ? "" : ` (skipped: ${machine.problem})`;

let base: string;
let workspace: string;

beforeEach(() => {
  base = testFolder();
  workspace = join(base, "work");
  for (const folder of ["home/.ssh", "work", "other"])
    mkdirSync(join(base, folder), { recursive: true });
  writeFileSync(join(base, "home/.ssh/id"), "CANARY");
  writeFileSync(join(base, "other/note.txt"), "CANARY");
  writeFileSync(join(workspace, "file.txt"), "content of the workspace");
});

/** A server in plain JavaScript: its tool runs a shell command and returns what that says. */
const program = `
const { execFile } = require("child_process");
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") say({ id, result: { protocolVersion: params.protocolVersion,
    serverInfo: { name: "x", version: "1" }, capabilities: { tools: {} } } });
  else if (method === "tools/list") say({ id, result: { tools: [{ name: "sh",
    inputSchema: { type: "object", properties: { line: { type: "string" } } } }] } });
  else if (method === "tools/call") execFile("/bin/sh", ["-c", params.arguments.line],
    (error, out, err) => say({ id, result: { content: [{ type: "text", text: out + err }] } }));
});`;

const declared: StdioServer = {
  kind: "stdio",
  command: "node",
  args: ["-e", program],
  sandbox: true,
};

async function open(server: StdioServer, isOwn = true, network: readonly string[] | "*" = "*") {
  const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: join(base, "home") };
  const servers = new McpServers({
    ...{ environment, version: "0", folder: join(base, "servers") },
    containment: {
      sandbox: () => detectSandbox(environment),
      ...{ environment, forbidden: [], limits: defaultLimits, unixSockets: false },
      allowPrivate: [],
    },
  });
  onTestFinished(() => servers.close());
  const tools = await servers.open("x", server, { delegationId: "a", workspace, isOwn, network });
  return (line: string) => call(tools, "sh", { line });
}

describe.skipIf(!machine.isUsable || !existsSync("/usr/bin/node"))(
  `a server in a sandbox${why}`,
  () => {
    it("sees neither the home of the person nor the workspace, and writes its own folder alone", async () => {
      const run = await open(declared);
      const { text } = await run(
        `cat ${base}/home/.ssh/id ${base}/other/note.txt ${workspace}/file.txt; touch ${base}/planted /usr/planted; ` +
          "echo kept > own && cat own; echo home > ~/x && cat ~/x; ls /proc | grep -c '^[0-9]'",
      );
      expect(text).not.toMatch(/CANARY|content of/);
      expect(text).toContain("kept\nhome\n");
      expect(existsSync(join(base, "planted"))).toBe(false);
      const processes = await run("ls /proc | grep -c '^[0-9]'");
      expect(Number(processes.text)).toBeLessThan(10);
    });

    it("reads the workspace where its declaration names that, and writes nothing in it", async () => {
      const env = { FOLDER: variable("workspaceFolder") };
      const run = await open({ ...declared, env });
      const { text } = await run('cat "$FOLDER/file.txt"; echo evil > "$FOLDER/file.txt"');
      expect(text).toContain("content of the workspace");
      expect(text).toContain("Read-only");
    });

    it("reads what the person lists; a project's file cannot list anything", async () => {
      const sandbox = { read: [join(base, "other")] };
      const line = `cat ${base}/other/note.txt`;
      expect((await (await open({ ...declared, sandbox }))(line)).text).toContain("CANARY");
      expect((await (await open({ ...declared, sandbox }, false))(line)).text).not.toContain(
        "CANARY",
      );
    });

    it("asks the proxy for hosts that declaration and contract both grant, and the call records them", async () => {
      const sandbox = { network: ["a.invalid", "b.invalid"] };
      const run = await open({ ...declared, sandbox }, true, ["b.invalid", "c.invalid"]);
      const { connections } = await run(
        "for h in a b c; do curl -s -o /dev/null http://$h.invalid/; done; true",
      );
      expect(connections).toEqual([
        { host: "a.invalid:80", refused: "host_not_granted", times: 1 },
        { host: "b.invalid:80", refused: "not_reachable", times: 1 },
        { host: "c.invalid:80", refused: "host_not_granted", times: 1 },
      ]);
      const closed = await open(declared);
      expect((await closed("curl -s http://b.invalid/ || echo none")).text).toContain("none");
    });

    it("is not started where there is no sandbox for it", async () => {
      const servers = new McpServers({ environment: process.env, version: "0", folder: base });
      onTestFinished(() => servers.close());
      const opening = servers.open("x", declared, { delegationId: "a", workspace, isOwn: true });
      await expect(opening).rejects.toThrow(/declared with a sandbox/);
    });
  },
);
