import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

const look = defineTool({
  name: "look",
  description: "Looks something up.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({ at: z.string() }),
  execute: ({ at }) => `${at} is fine`,
});

const everything = ["delegate_task", "spawn", "spawn_await", "look", "complete_task"];
const profiles = [
  testProfile("lead", { tools: everything }),
  testProfile("middle", { tools: ["delegate_task", "look"] }),
  testProfile("leaf", { tools: ["look"] }),
  testProfile("closer", { tools: ["look", "complete_task"], exit: { tools: ["complete_task"] } }),
];

const delegate = (profile: string, task: string) => ({
  tool: "delegate_task",
  input: { profile, task },
});

/** Looks twice, then reports; decides from the request alone, as every model here. */
const leaf: Script = ({ caller, messages }) => {
  // Not all in step, so that there are more moments to die at.
  const latency_ms = 1 + (caller.task.charCodeAt(0) % 3);
  if (caller.turn < 3) {
    return { latency_ms, calls: [{ tool: "look", input: { at: `${caller.task}${caller.turn}` } }] };
  }
  const looks = messages.flatMap((each) => (each.role === "tool" ? each.text : []));
  return { latency_ms, text: `${caller.task}: ${looks.join(", ")}` };
};

export const scenarios: Record<string, Script> = {
  "three children at once, one of which has a child": (request) => {
    const { caller, messages } = request;
    if (caller.profile === "leaf") return leaf(request);
    const results = messages.flatMap((each) =>
      each.role === "tool" ? JSON.parse(each.text).result : [],
    );
    if (caller.profile === "middle") {
      return caller.turn === 1 ? { calls: [delegate("leaf", "d")] } : `middle of ${results}`;
    }
    if (caller.turn > 1) return `all: ${results.join("; ")}`;
    return { calls: [delegate("leaf", "a"), delegate("middle", "b"), delegate("leaf", "c")] };
  },
  "jobs that are spawned, awaited one by one, and then all": (request) => {
    const { caller, messages } = request;
    if (caller.profile === "leaf") return leaf(request);
    const texts = messages.flatMap((each) => (each.role === "tool" ? each : []));
    const jobs = texts.filter(({ tool }) => tool === "spawn").map(({ text }) => text);
    const wait = (ids: string | undefined) => ({
      calls: [{ tool: "spawn_await", input: { job_ids: ids } }],
    });
    if (caller.turn === 1) {
      const spawn = (task: string) => ({ tool: "spawn", input: { profile: "leaf", task } });
      return { calls: [spawn("a"), spawn("b"), spawn("c")] };
    }
    if (caller.turn === 2) return wait(jobs[1]);
    if (caller.turn === 3) return wait("*");
    return `${texts
      .slice(3)
      .map(({ text }) => text.replaceAll(/[0-9a-f]{6,}/g, "job"))
      .join("; ")}`;
  },
  "a child that fails once, is refused something and must complete its task": ({
    caller,
    messages,
  }) => {
    if (caller.profile === "lead") {
      return caller.turn === 1
        ? { calls: [delegate("closer", "a")] }
        : JSON.parse(messages.at(-1)?.text ?? "").result;
    }
    if (caller.attempt === 1) return { fault: "empty" };
    if (caller.turn === 1)
      return {
        calls: [
          { tool: "write_file", input: { path: "x" } },
          { tool: "look", input: { at: "y" } },
        ],
      };
    if (caller.turn === 2) return "I think I am done.";
    return {
      calls: [
        { tool: "complete_task", input: { summary: `handed in after ${caller.turn} turns` } },
      ],
    };
  },
};

/** What must be the same whether or not anybody died on the way. */
function outcomeOf({
  status,
  result,
  closeReason,
  profile,
  evidence,
  subDelegations,
}: DelegationResult): unknown {
  const { tool_calls, attempts } = evidence;
  return {
    profile,
    status,
    result,
    closeReason,
    tool_calls,
    attempts,
    below: subDelegations?.map(outcomeOf),
  };
}

export const options = { profiles, tools: [look], maxConcurrent: 2 };

/** Runs until this many transactions are on disk, then the process dies; false: it finished first. */
export async function dieAfter(commits: number, mandate: TestEngine): Promise<boolean> {
  let seen = 0;
  const died = new Promise<true>((resolve) => {
    mandate.store.subscribe(() => {
      seen += 1;
      if (seen !== commits) return;
      mandate.abandon();
      resolve(true);
    });
  });
  const finished = mandate.start({ task: "go", profile: "lead" }).then(({ result }) => result);
  return Promise.race([died, finished.then(() => false)]);
}

export async function recoverIn(mandate: TestEngine, model: Script) {
  const second = await mandate.another({ ...options, model });
  const recovered = await second.engine.recover();
  await Promise.all(recovered.map(({ result }) => result));
  const [row] = await second.store.listRuns({});
  const result = row && (await second.engine.resultOf(row.id));
  const events = row ? await second.events(row.id) : [];
  second.abandon();
  return { result, events, recovered: recovered.length };
}

/** Processes die at every `step`-th moment of their work. */
export function testDeaths(step: number): void {
  describe.each(Object.entries(scenarios))("with %s", (_title, model) => {
    it("a process may die after any transaction, and the results are the undisturbed ones", async () => {
      let expected: unknown;
      {
        await using undisturbed = await openEngine({ ...options, model });
        expected = outcomeOf((await undisturbed.run({ task: "go", profile: "lead" })).result);
      }
      expect(expected).toMatchObject({ status: "completed" });
      let points = 0;
      for (let commits = 1; ; commits += step) {
        await using mandate = await openEngine({ ...options, model });
        if (!(await dieAfter(commits, mandate))) break;
        points = commits;
        const first = await recoverIn(mandate, model);
        expect(
          first.result && outcomeOf(first.result),
          `died after ${commits} transactions`,
        ).toEqual(expected);
        const again = await recoverIn(mandate, model);
        expect(again.recovered).toBe(0);
        expect(again.events, "a second recovery writes nothing").toEqual(first.events);
      }
      expect(points + step).toBeGreaterThan(6);
    });

    it("two processes may die one after the other at any two points", async () => {
      let expected: unknown;
      {
        await using undisturbed = await openEngine({ ...options, model });
        expected = outcomeOf((await undisturbed.run({ task: "go", profile: "lead" })).result);
      }
      for (let commits = 2; ; commits += 3 * step) {
        await using mandate = await openEngine({ ...options, model });
        if (!(await dieAfter(commits, mandate))) break;
        const second = await mandate.another({ ...options, model });
        let seen = 0;
        const died = new Promise<void>((resolve) => {
          second.store.subscribe(() => {
            seen += 1;
            if (seen !== 1 + (commits % 4)) return;
            second.abandon();
            resolve();
          });
        });
        const recovered = await second.engine.recover().catch(() => []);
        await Promise.race([died, Promise.all(recovered.map(({ result }) => result))]);
        second.abandon();
        const last = await recoverIn(mandate, model);
        expect(last.result && outcomeOf(last.result), `died after ${commits} transactions`).toEqual(
          expected,
        );
      }
    });
  });
}
