import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import type { McpServers } from "./mcp-servers.ts";
import {
  call,
  isAlive,
  openFor,
  processOf,
  scriptOf,
  settle,
  testServers,
  variable,
} from "./opened.test-support.ts";

let servers: McpServers;
let folder: string;
beforeEach(() => {
  folder = testFolder();
});
afterEach(() => servers.close());

const stayAlive = "setInterval(() => {}, 1000);";

/** A server that writes its process id into this file when it has done what comes before. */
function idling(file: string, before = "") {
  const write = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
  return scriptOf(`${before} ${write} ${stayAlive}`);
}

/** Opens it, and lets its time pass once it has said what it says. */
async function openTooLate(before: string): Promise<Error> {
  const clock = new ManualClock();
  servers = testServers({ startTimeoutMs: 300, clock });
  const file = join(folder, "pid");
  const opening = openFor(servers, idling(file, before)).then(
    () => new Error("opened"),
    (reason: Error) => reason,
  );
  await until("it runs", () => readIfThere(file) !== "");
  // What it wrote before is read in between.
  await clock.advance(299);
  return settle(clock, opening);
}

describe("a server that does not start", () => {
  it("because it never answers, is given up and ended", async () => {
    const error = await openTooLate('console.error("loading " + process.pid);');
    expect(error.message).toMatch(
      /^The MCP server "example" did not answer within 300 ms\. It said: loading \d+$/,
    );
    expect(isAlive(Number(/\d+$/.exec(error.message)?.[0]))).toBe(false);
  });

  it("because it exits at once, says how and what its last words were", async () => {
    servers = testServers();
    const lines = "for (let i = 0; i < 9; i++) console.error('line ' + i + '\\u001b[2J');";
    await expect(openFor(servers, scriptOf(`${lines} process.exit(3)`))).rejects.toThrow(
      'The MCP server "example" ended with exit code 3. It said: line 4 | line 5 | line 6 | line 7 | line 8',
    );
  });

  it("because its command does not exist", async () => {
    servers = testServers();
    const missing = { kind: "stdio", command: "no-such-command-here" } as const;
    await expect(openFor(servers, missing)).rejects.toThrow(
      'The MCP server "example" cannot be started: its command or its folder does not exist.',
    );
    const nowhere = processOf("legacy", { cwd: "/no/such/folder" });
    await expect(openFor(servers, nowhere)).rejects.toThrow("its folder does not exist");
  });

  it("because it talks of other things, quotes them", async () => {
    const error = await openTooLate('console.log("Listening on port 3000");');
    expect(error.message).toContain("It said: Listening on port 3000");
  });

  it("too often, is left alone for a while", async () => {
    servers = testServers();
    const broken = scriptOf("process.exit(1)");
    for (let at = 0; at < 5; at++) {
      await expect(openFor(servers, broken, `agent_${at}`)).rejects.toThrow("exit code 1");
    }
    await expect(openFor(servers, broken, "agent_6")).rejects.toThrow(
      /failed too often; it is tried again in \d+ s\.$/,
    );
  });

  it("before it is released, leaves nothing behind", async () => {
    servers = testServers();
    const file = join(folder, "pid");
    const slow = { ...idling(file), sharing: "delegation" } as const;
    const opening = openFor(servers, slow);
    const failed = expect(opening).rejects.toThrow('The MCP server "example"');
    await until("it runs", () => readIfThere(file) !== "");
    await servers.release("agent_1");
    await failed;
    expect(isAlive(Number(readIfThere(file)))).toBe(false);
  });
});

describe("a server that misbehaves", () => {
  it("prints garbage between its messages: that is skipped", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("noisy"));
    expect(await call(tools, "echo", { text: "clear" })).toEqual({ text: "clear" });
  });

  it("dies in the middle of a call: all open calls fail, the next one starts it again", async () => {
    servers = testServers({ environment: { PATH: process.env["PATH"], KEY: "s3cret-canary" } });
    const tools = await openFor(
      servers,
      processOf("legacy", { env: { SERVICE_TOKEN: variable("KEY") } }),
    );
    const waiting = call(tools, "wait");
    const died = await call(tools, "die");
    expect(died).toEqual({
      text: 'The MCP server "example" ended with exit code 7. It said: out of luck [redacted]',
      isError: true,
    });
    expect(await waiting).toEqual(died);
    expect(await call(tools, "echo", { text: "back" })).toEqual({ text: "back" });
  });

  it("dies again and again: it is not started for ever", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    for (let at = 0; at < 5; at++) expect((await call(tools, "die")).text).toContain("exit code 7");
    expect(await call(tools, "die")).toMatchObject({
      text: expect.stringContaining("failed too often"),
      isError: true,
    });
  });

  it("gives ten megabytes: they arrive", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    const { text } = await call(tools, "large", { bytes: 10_000_000 });
    expect(text).toHaveLength(10_000_000);
  });

  it("gives more than can be held: the call fails, and the next one works", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    expect(await call(tools, "large", { bytes: 17_000_000 })).toEqual({
      text: 'The MCP server "example" sent a message of more than 16 MB and was stopped.',
      isError: true,
    });
    expect(await call(tools, "echo", { text: "small" })).toEqual({ text: "small" });
  });

  it("does not answer a call: that fails after its time", async () => {
    servers = testServers({ callTimeoutMs: 100 });
    const tools = await openFor(servers, processOf("legacy"));
    expect(await call(tools, "wait")).toEqual({
      text: 'The MCP server "example" did not answer within 100 ms.',
      isError: true,
    });
    // A second session with the process, with more time for a machine that is busy.
    const patient = await openFor(servers, processOf("legacy", { timeoutMs: 60_000 }), "agent_2");
    expect(await call(patient, "cancelled")).toEqual({ text: "1" });
    expect(await call(patient, "echo", { text: "still here" })).toEqual({ text: "still here" });
  });

  it("asks for a model or floods us: nothing is obeyed and calls go on", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    expect((await call(tools, "ask")).text).toContain("refused");
    const flooding = await openFor(servers, processOf("floods"), "agent_1", "flood");
    expect(await call(flooding, "go")).toEqual({ text: "flooded" });
    expect(await call(flooding, "go")).toEqual({ text: "flooded" });
  });

  it("does not read what it is sent: that is noticed before memory is gone", async () => {
    servers = testServers();
    const deaf = scriptOf(`
      const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
      const tools = [{ name: "x", inputSchema: { type: "object" } }];
      const serverInfo = { name: "deaf", version: "1" };
      let read = "";
      const hear = (data) => {
        read += data;
        const lines = read.split("\\n");
        read = lines.pop();
        for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
          if (method === "initialize") {
            const { protocolVersion } = params;
            say({ id, result: { protocolVersion, serverInfo, capabilities: { tools: {} } } });
          }
          if (method !== "tools/list") continue;
          process.stdin.off("data", hear).pause();
          say({ id, result: { tools } });
        }
      };
      process.stdin.on("data", hear);
      setInterval(() => {}, 1000);`);
    const tools = await openFor(servers, deaf);
    const filler = "x".repeat(1_000_000);
    const calls = Array.from({ length: 20 }, () => call(tools, "x", { filler }));
    const results = await Promise.all(calls);
    expect(new Set(results.map(({ text }) => text))).toEqual(
      new Set(['The MCP server "example" stopped reading what it was sent.']),
    );
  });
});

describe("ending", () => {
  it("takes what a server has started with it", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    const grandchild = Number((await call(tools, "grandchild")).text);
    const { pid } = JSON.parse((await call(tools, "where")).text);
    expect([isAlive(pid), isAlive(grandchild)]).toEqual([true, true]);
    await servers.close();
    expect([isAlive(pid), isAlive(grandchild)]).toEqual([false, false]);
  });

  it("takes it also when the server died by itself", async () => {
    servers = testServers();
    const tools = await openFor(servers, processOf("legacy"));
    const grandchild = Number((await call(tools, "grandchild")).text);
    await call(tools, "die");
    await until("what it started has ended", () => !isAlive(grandchild));
  });

  it("kills what ignores every request to end", async () => {
    servers = testServers();
    const file = join(folder, "pids");
    await openFor(servers, processOf("stubborn", {}, file));
    const pids = readIfThere(file).split(" ").map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    await servers.close();
    expect(pids.map(isAlive)).toEqual([false, false]);
  });
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
