import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ofType } from "../../testing/engine-fixture.ts";
import { countProcesses } from "../../tools/shell/shell-fixture.test-support.ts";
import {
  machine,
  openPrograms,
  programProfile,
  reportsOf,
  whySkipped,
} from "./program-scene.test-support.ts";

const once = { limits: { retries: 0 } };

describe.skipIf(!machine.isUsable)(`an agent program that cannot be used${whySkipped}`, () => {
  it("is refused before anything is stored where it is missing", async () => {
    const missing = programProfile(async () => undefined, {
      runner: { acp: ["mandate-has-no-such-program"] },
    });
    await using scene = await openPrograms([missing]);
    await expect(scene.run()).rejects.toThrow(/mandate-has-no-such-program.*is not installed/);
  });

  it.each([
    ["of another protocol version", { protocolVersion: 99 }, /version 99.*version 1 is needed/, 1],
    [
      "without a login",
      { needsLogin: true },
      /Authentication required.*Sign in with a browser/s,
      1,
    ],
    ["that exits at its start", { atStart: "exit" }, /acp exited with code 7/, 2],
    ["that complains and ends", { atStart: "complain" }, /code 3: The program cannot find its/, 2],
  ] as const)("%s fails with that reason", async (_what, fake, reason, attempts) => {
    await using scene = await openPrograms([programProfile(async () => undefined, { fake })]);
    const { events, result } = await scene.run();
    expect(result.status).toBe("failed");
    expect(result.result).toMatch(reason);
    expect(ofType(events, "agent.subagent_attempt")).toHaveLength(attempts);
  });

  it("that never opens a session is given up", async () => {
    const silent = programProfile(async () => undefined, {
      fake: { atStart: "hang" },
      limits: { retries: 0, timeoutMs: 2000 },
    });
    await using scene = await openPrograms([silent]);
    const { result } = await scene.run();
    expect(result).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });
});

describe.skipIf(!machine.isUsable)(`an agent program that fails${whySkipped}`, () => {
  it("in its turn keeps its best text and its files, and is tried again in a new session", async () => {
    const crashing = programProfile(async (agent) => {
      const isFirst = !agent.shell("test -f tried.txt && echo yes").includes("yes");
      agent.say("I have begun.");
      agent.update({
        sessionUpdate: "tool_call",
        toolCallId: "1",
        title: "write",
        status: "completed",
      });
      agent.write("tried.txt", "tried\n");
      if (isFirst) agent.exit(9);
      agent.say(agent.prompt.includes("I have begun.") ? "I knew." : "I did not know.");
    });
    await using scene = await openPrograms([crashing]);
    const { events, result } = await scene.run();
    expect(result).toMatchObject({ status: "completed", closeReason: "integrated" });
    expect(ofType(events, "agent.program_started")).toHaveLength(2);
    expect(ofType(events, "agent.retried")[0]?.payload.cause).toMatchObject({
      ...{ code: "program_failed", exit: 9 },
    });
    expect(readFileSync(join(scene.engine.workspace, "tried.txt"), "utf8")).toBe("tried\n");
  });

  it("in every attempt fails, and says how it ended", async () => {
    const crashing = programProfile(async (agent) => {
      agent.say("The half of it.");
      agent.update({
        sessionUpdate: "tool_call",
        toolCallId: "1",
        title: "x",
        status: "completed",
      });
      agent.shell("echo 'out of luck' >&2; kill -9 $PPID");
    });
    await using scene = await openPrograms([crashing]);
    const { events, result } = await scene.run();
    expect(result.status).toBe("failed");
    expect(result.result).toMatch(/acp exited with code (?:137|SIGKILL)/);
    expect(ofType(events, "agent.program_started")).toHaveLength(2);
  });

  it("with exit code 0 in the middle of a turn has not answered", async () => {
    const leaving = programProfile(async (agent) => {
      agent.say("Bye.");
      agent.exit(0);
    });
    await using scene = await openPrograms([leaving]);
    const { result } = await scene.run();
    expect(result.status).toBe("failed");
    expect(result.result).toContain("acp exited with code 0");
  });

  it("after its answer has answered", async () => {
    const leaving = programProfile(async (agent) => {
      agent.write("made.txt", "made\n");
      agent.say("All done.");
      setTimeout(() => agent.exit(5), 0);
    });
    await using scene = await openPrograms([leaving]);
    const { result } = await scene.run();
    expect(result).toMatchObject({ status: "completed", result: "All done." });
    expect(existsSync(join(scene.engine.workspace, "made.txt"))).toBe(true);
  });
});

describe.skipIf(!machine.isUsable)(`an agent program that floods${whySkipped}`, () => {
  it("with updates and calls is cut in the log, and heard to its end", async () => {
    const flooding = programProfile(async (agent) => {
      for (let at = 0; at < 20_000; at++) {
        agent.update({
          ...{ sessionUpdate: "tool_call", toolCallId: `${at}`, title: "t".repeat(2000) },
          ...{ status: "completed", rawOutput: "o".repeat(200) },
        });
      }
      agent.say("x".repeat(3_000_000));
    });
    await using scene = await openPrograms([flooding]);
    const { events, result } = await scene.run();
    expect(result.status).toBe("completed");
    expect(ofType(events, "agent.program_reported").length).toBeLessThanOrEqual(5000);
    expect(JSON.stringify(events).length).toBeLessThan(20_000_000);
  });

  it("with one endless line is ended", async () => {
    const flooding = programProfile(async (agent) => {
      const text = "x".repeat(1024 * 1024);
      for (let at = 0; at < 64; at++) agent.raw(text);
      await agent.wait(60_000);
    }, once);
    await using scene = await openPrograms([flooding]);
    const { result } = await scene.run();
    expect(result.status).toBe("failed");
    expect(result.result).toMatch(/message|32|MB/);
  });

  it("with complaints keeps the end of them", async () => {
    const flooding = programProfile(async (agent) => agent.say("Done."), {
      ...once,
      fake: { atStart: "flood-errors" },
    });
    await using scene = await openPrograms([flooding]);
    const { result } = await scene.run();
    expect(result.status).toBe("completed");
  });
});

describe.skipIf(!machine.isUsable)(`an agent program that speaks nonsense${whySkipped}`, () => {
  it("at its start is understood all the same", async () => {
    const odd = programProfile(async (agent) => agent.say("Fine."), {
      fake: { atStart: "garbage" },
    });
    await using scene = await openPrograms([odd]);
    expect((await scene.run()).result).toMatchObject({ status: "completed", result: "Fine." });
  });

  it("in its turn is heard where it makes sense", async () => {
    const odd = programProfile(async (agent) => {
      for (const text of [
        ...["not JSON", "[]", "null", "42", '"text"', "{}", '{"jsonrpc":"1.0","id":1}'],
        '[{"jsonrpc":"2.0","method":"session/update"}]',
        '{"jsonrpc":"2.0","id":999,"result":{}}',
        '{"jsonrpc":"2.0","id":{"a":1},"result":{}}',
        '{"jsonrpc":"2.0","id":1,"method":42}',
        '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":7}}}',
        '{"jsonrpc":"2.0","method":"session/update","params":[]}',
        '{"jsonrpc":"2.0","method":"session/nonsense","params":{}}',
      ]) {
        agent.raw(`${text}\n`);
      }
      for (const content of [
        null,
        7,
        [],
        { type: "image", data: "x" },
        { type: "text", text: 7 },
      ]) {
        agent.update({ sessionUpdate: "agent_message_chunk", content });
      }
      agent.update({ sessionUpdate: "tool_call", toolCallId: 7, title: null, content: "x" });
      agent.update({ sessionUpdate: "plan", entries: [null, 7, { content: 7 }] });
      agent.update({ sessionUpdate: "usage", inputTokens: -1_000_000, cost: -5 });
      const unknown = await agent
        .ask("session/elsewhere", {})
        .catch((error: Error) => error.message);
      const wrong = await agent
        .ask("fs/read_text_file", { path: 7 })
        .catch((error: Error) => error.message);
      agent.say(`${unknown} | ${wrong}`);
    });
    await using scene = await openPrograms([odd]);
    const { events, result } = await scene.run();
    expect(result.status).toBe("completed");
    expect(result.result).toMatch(/[Mm]ethod.*\|.*[Ii]nvalid/s);
    expect(ofType(events, "agent.program_answered")).toHaveLength(1);
  });

  it("again and again is ended", async () => {
    const odd = programProfile(async (agent) => {
      for (let at = 0; at < 200; at++) agent.raw('{"jsonrpc":"2.0","id":"x","result":{}}\n');
      await agent.wait(60_000);
    }, once);
    await using scene = await openPrograms([odd]);
    const { result } = await scene.run();
    expect(result.status).toBe("failed");
    expect(result.result).toContain("messages that are not of the protocol");
  });
});

describe.skipIf(!machine.isUsable)(`an agent program that does not end${whySkipped}`, () => {
  it("is ended by its deadline, with its best text, although it ignores cancel", async () => {
    const endless = programProfile(
      async (agent) => {
        agent.say("What I have so far.");
        agent.update({
          sessionUpdate: "tool_call",
          toolCallId: "1",
          title: "x",
          status: "completed",
        });
        for (;;) {
          agent.update({ sessionUpdate: "plan", entries: [] });
          await agent.wait(50);
        }
      },
      { limits: { retries: 0, timeoutMs: 3000 } },
    );
    await using scene = await openPrograms([endless]);
    const { delegationId, events, result } = await scene.run();
    expect(result).toMatchObject({ closeReason: "timeout" });
    expect(reportsOf(events)).toContain("said What I have so far.");
    await expect.poll(() => countProcesses(delegationId)).toBe(0);
  });

  it("and leaves daemons behind ends with all of them", async () => {
    const forking = programProfile(async (agent) => {
      agent.shell(
        "for i in 1 2 3; do (setsid sh -c ': daemon-of-this-test; trap \"\" TERM HUP; while :; do sleep 0.05; done' </dev/null >/dev/null 2>&1 &); done; sleep 0.2",
      );
      agent.say("They run.");
    });
    await using scene = await openPrograms([forking]);
    const { result } = await scene.run();
    expect(result.status).toBe("completed");
    await expect.poll(() => countProcesses("daemon-of-this-test")).toBe(0);
  });
});

it.skipIf(!machine.isUsable)("reports are in order", async () => {
  const program = programProfile(async (agent) => {
    agent.say("one");
    agent.update({ sessionUpdate: "tool_call", toolCallId: "1", title: "never ends" });
    agent.say("two");
  });
  await using scene = await openPrograms([program]);
  const { events } = await scene.run();
  expect(reportsOf(events)).toEqual([
    ...["started fake 1.2.3", "said one", "called never ends", "answered two"],
  ]);
});
