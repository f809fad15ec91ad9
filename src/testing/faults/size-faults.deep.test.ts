/** Far too much of something: state, log, the parent's view, remains, and memory. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import { ofType } from "../engine-fixture.ts";
import { nothing } from "./aftermath.test-support.ts";
import { openFaultHome } from "./fault-home.test-support.ts";
import { life, turn } from "./fault-scene.test-support.ts";

vi.setConfig({ testTimeout: 120_000 });

const megabyte = 1024 * 1024;
const merged = ["waiting_for_merge", "worktree_merged", "completed"];

const limits = { defaultTokens: 200_000 };

it("fault 20: of 100 MB that a command says, a capped part is kept, and memory grows by less than 20 MB", async () => {
  await using home = await openFaultHome();
  const say = (bytes: number): ScriptedReply => {
    const command = `head -c ${bytes} /dev/zero | tr '\\0' x`;
    return { calls: [{ tool: "shell", input: { command } }] };
  };
  const { growthBytes = 0, result } = await home.work({
    warmUp: [say(5_000_000)],
    child: [say(100_000_000)],
    ...{ tools: ["shell"], unsandboxed: true, limits },
  });
  const after = await home.after();
  expect(result).toMatchObject({ status: "completed" });
  expect(after).toMatchObject({
    states: ["closed completed integrated"],
    events: [life(...turn, "tool_started", "tool_completed", ...turn, ...merged)],
    told: [{ status: "completed", result: expect.stringContaining("100000000 bytes of output") }],
    // The stored output and the result that repeats it, in this run and in the one before.
    left: { ...nothing, artifacts: 4 },
  });
  const [completed] = ofType(after.log, "agent.tool_completed");
  const { artifact, bytes, hash, output = "", truncated } = completed?.payload ?? {};
  expect({ artifact, truncated }).toEqual({ artifact: { bytes, hash }, truncated: true });
  expect(bytes).toBeLessThan(1.1 * megabyte);
  expect(output.length).toBeLessThan(65 * 1024 + 100);
  expect(growthBytes / megabyte).toBeLessThan(20);
});

async function writeLog(path: string, thousands: number): Promise<void> {
  const file = createWriteStream(path);
  for (let block = 0; block < thousands; block++) {
    let text = "";
    for (let line = 0; line < 1000; line++) text += `${block * 1000 + line} all is well here\n`;
    if (!file.write(text)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

it.each([
  ["read_file", {}],
  ["grep", { pattern: "well" }],
])("fault 20: a log of a million lines is looked at by %s within 20 MB", async (tool, input) => {
  await using home = await openFaultHome();
  const look = async (path: string, thousands: number): Promise<ScriptedReply> => {
    await writeLog(join(home.workspace, path), thousands);
    return { calls: [{ tool, input: { ...input, path } }] };
  };
  const { growthBytes = 0 } = await home.work({
    // The program that a first call loads is larger than what the log adds.
    warmUp: [await look("small.log", 50)],
    child: [await look("huge.log", 1000)],
    ...{ tools: ["read_file", "grep"], limits },
  });
  const after = await home.after();
  expect(after).toMatchObject({
    states: ["closed completed integrated"],
    events: [life(...turn, "tool_started", "tool_completed", ...turn, ...merged)],
    told: [{ status: "completed", result: expect.stringContaining("0 all is well here") }],
  });
  expect(after.left).toEqual({ ...nothing, artifacts: after.left.artifacts });
  const [completed] = ofType(after.log, "agent.tool_completed");
  expect(completed?.payload.output.length).toBeLessThan(65 * 1024);
  expect(growthBytes / megabyte).toBeLessThan(20);
});
