import { join } from "node:path";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { createMandate } from "./mandate.ts";

test("a program replays a run, and forks it without running finished children again", async () => {
  const root = testFolder();
  const profile = { description: "A test", origin: "test" };
  let helped = 0;
  const mandate = await createMandate({
    environment: { MANDATE_HOME: join(root, "home"), HOME: root },
    cwd: root,
    profiles: [
      { ...profile, name: "boss", capabilities: ["primary"], prompt: "You lead." },
      { ...profile, name: "helper", capabilities: ["subtask"], prompt: "You help." },
    ],
    scripted: scriptedModel(({ caller }) => {
      if (caller.profile === "helper") return `helped ${++helped} times`;
      const input = { profile: "helper", task: "help" };
      return caller.turn === 1 ? { calls: [{ tool: "delegate_task", input }] } : "done";
    }),
  });
  try {
    const { result, runId } = await mandate.start({ profile: "boss", task: "go" });
    await result;
    expect(await mandate.replay(runId)).toMatchObject({ delegations: 2, differences: [] });
    const events: StoredEvent[] = [];
    for await (const event of mandate.events({ runId })) events.push(event);
    const last = events.filter(({ type }) => type === "agent.budget_reserved").at(-1);
    // In the middle of the first turn, when the child had ended: that turn is made again.
    const closed = events.find(({ type }) => type === "agent.subagent_closed");
    const forked = await mandate.fork(runId, { at: closed?.run_seq ?? 0 });
    expect(await forked.result).toMatchObject({ status: "completed", result: "done" });
    expect(helped).toBe(1);
    const later = await mandate.fork(runId, { at: (last?.run_seq ?? 0) - 1, task: "Again." });
    await later.result;
    expect(helped).toBe(1);
    expect((await mandate.verify()).violations).toEqual([]);
    await expect(mandate.replay("r000000")).rejects.toMatchObject({ code: "unknown-run" });
  } finally {
    await mandate.close();
  }
});
