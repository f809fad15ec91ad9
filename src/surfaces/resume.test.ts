import { describe, expect, test } from "vitest";
import { openStore } from "../open-store.ts";
import {
  fast,
  type Past,
  pasts,
  ResumeScene,
  type Said,
  type Surface,
  surfaces,
  violationsIn,
  withApi,
  withMandate,
  withoutIds,
} from "./resume-scene.test-support.ts";

const busy = "Process P works on R. Watch it: mandate logs R --follow. To end it: mandate cancel R";
const program = 'R is the session of "other-program", an agent that another program runs';
const without = (...agents: readonly string[]) =>
  `Run R continues where it stopped, with its sub-agents alone: ${agents.join(", ")}.`;
const anew = "Resumed R as D in run R.";

/** What every surface says, and how the work ends. */
const expected: Readonly<Record<keyof typeof pasts, Said>> = {
  "a run that was paused": {
    words: "Run R continues where it stopped.",
    results: ["The sub-agent answered."],
  },
  "a sub-agent of a run that was paused": {
    words: "Run R continues where it stopped.",
    results: ["The sub-agent answered."],
  },
  "a run whose process is gone": {
    words: "Run R continues where it stopped.",
    results: ["The sub-agent answered."],
  },
  "a sub-agent of a run whose process is gone": {
    words: "Run R continues where it stopped.",
    results: ["The sub-agent answered."],
  },
  "a run that was cancelled": { words: anew, results: ["Continued."] },
  "a sub-agent of a run that was cancelled": {
    words: "Resumed D as D in run R.",
    results: ["Continued."],
  },
  "a run that failed": { words: anew, results: ["Continued."] },
  "a run that completed": { words: "Delegation D is completed; there is nothing to resume." },
  "a run that another process works on": { words: busy },
  "a session of another program that was paused": { words: without("D"), results: ["Finished."] },
  "a session of another program whose process is gone": {
    words: without("D", "D"),
    results: ["Finished.", "Finished."],
  },
  "a session of another program that left work": {
    words: "Resumed D as D in run R.\nResumed D as D in run R.",
    results: ["Continued.", "Continued."],
  },
  "a session of another program whose sub-agents completed": {
    words: `${program}. All of its sub-agents have completed; their results: mandate tree R`,
  },
  "a session of another program that a process serves": {
    words:
      'Process P serves R, the session of "other-program", which has not ended. Watch it: mandate logs R --follow. To end it: mandate cancel R',
  },
};

describe.each(Object.entries<Past>(pasts))("%s", (past, prepare) => {
  test.each(Object.entries<Surface>(surfaces))(
    "means the same over the %s as everywhere",
    async (_name, resume) => {
      await using scene = new ResumeScene();
      const id = await prepare(scene);
      expect(await resume(scene, id)).toEqual(expected[past as keyof typeof pasts]);
      expect(await violationsIn(scene)).toEqual([]);
    },
  );
});

describe("new limits", () => {
  const asked = { maxTokens: 30_000, timeoutMs: 120_000 };
  /** Each gives the words of a refusal, or nothing. */
  const ways: readonly (readonly [string, Surface])[] = [
    [
      "library",
      (scene, id) =>
        withMandate(scene, async (mandate) => {
          const { maxTokens: maxTokenBudget, timeoutMs: timeout } = asked;
          await (await mandate.resume(id, { maxTokenBudget, timeout })).result;
          return undefined;
        }),
    ],
    [
      "http",
      (scene, id) =>
        withApi(scene, async (client) => {
          const { maxTokens, timeoutMs: timeout } = asked;
          const { runId } = await client.resumeRun({ runId: id, maxTokens, timeout });
          await client.waitFor(runId);
          return undefined;
        }),
    ],
    [
      "command line",
      async (scene, id) => {
        const limits = ["--max-tokens", "30000", "--timeout", "2m"];
        const { err } = await scene.desk.type(["resume", "--speed", String(fast), ...limits, id]);
        return { words: withoutIds(/^mandate: (.*)$/m.exec(err)?.[1] ?? "") };
      },
    ],
  ];

  test.each(ways)("hold for a new run over the %s", async (_name, resume) => {
    await using scene = new ResumeScene();
    const id = await pasts["a run that was cancelled"](scene);
    expect(await resume(scene, id)).toEqual({ words: "" });
    const store = await openStore({ environment: scene.environment });
    const [latest] = await store.listRuns({ limit: 1 });
    const run = await store.readRun(latest?.id ?? "");
    const [root] = run?.delegations.keys() ?? [];
    const { budget, deadlines } = await store.readContract(root ?? "");
    await store.close();
    expect(latest?.id).not.toBe(id);
    expect([budget.tokens, deadlines.total]).toEqual([asked.maxTokens, asked.timeoutMs]);
  });

  test.each(ways)(
    "are refused over the %s for a run that continues itself",
    async (_name, resume) => {
      await using scene = new ResumeScene();
      const id = await pasts["a run that was paused"](scene);
      const { words } = await resume(scene, id);
      expect(words).toMatch(
        /^R has not ended: it continues under its contract, which gives D \d+ tokens\. Leave the new limit out, or cancel the run first\.$/,
      );
      expect(await violationsIn(scene)).toEqual([]);
    },
  );
});

test("the command line prints the result of every sub-agent that a session left", async () => {
  await using scene = new ResumeScene();
  const id = await pasts["a session of another program that left work"](scene);
  const { code, err, out } = await scene.desk.type(["resume", "--speed", String(fast), id]);
  expect({ code, out }).toEqual({ code: 0, out: "Continued.\nContinued.\n" });
  expect(withoutIds(err)).toMatch(
    /\nSub-agent 1 of 2, ender D in R:\nSub-agent 2 of 2, ender D in R:\n$/,
  );
});

test("the exit code of a session's resumption is that of the first sub-agent that failed", async () => {
  await using scene = new ResumeScene();
  const id = await pasts["a session of another program that left work"](scene);
  const file = scene.desk.write("other.yaml", "version: 1\nreplies: [{ fault: unauthorized }]\n");
  const { code, err, out } = await scene.desk.type(["resume", "--playbook", file, id]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err.match(/^mandate: failed \([^)]+\)/gm)).toHaveLength(2);
});
