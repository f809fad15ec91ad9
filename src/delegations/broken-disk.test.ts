import { StatementSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "list_files"] }),
  testProfile("middle", { tools: ["delegate_task", "list_files"] }),
  testProfile("leaf", { tools: ["list_files"] }),
];

const delegateTo = (profile: string, task: string) => ({
  tool: "delegate_task",
  input: { profile, task },
});

/** With different waits, so that ends and beginnings come together with others' in many ways. */
const model: Script = ({ caller: { depth, profile, task, turn } }) => {
  const latency_ms = 1 + ((task.length * 3 + turn * 5 + depth) % 7);
  if (profile === "leaf") {
    const calls = [{ tool: "list_files", input: {} }];
    return turn < 3 ? { calls, latency_ms } : { text: `${task} is done`, latency_ms };
  }
  if (turn > 1) return { text: `${task} is done`, latency_ms };
  const calls =
    profile === "lead"
      ? [delegateTo("middle", "a middle"), delegateTo("leaf", "leaf"), delegateTo("leaf", "a leaf")]
      : [delegateTo("leaf", "deep leaf"), delegateTo("leaf", "another deep leaf")];
  return { calls, latency_ms };
};

const { run } = StatementSync.prototype;
afterEach(() => {
  StatementSync.prototype.run = run;
});

/** From the so many-th commit on so many of them fail, as SQLite says it. Gives how many there were. */
function failCommits(at: number, count: number, errcode: number): () => number {
  let commits = 0;
  StatementSync.prototype.run = new Proxy(run, {
    apply(target, statement: StatementSync, parameters) {
      if (statement.sourceSQL === "COMMIT") {
        commits += 1;
        if (commits >= at && commits < at + count) {
          throw Object.assign(new Error("the disk failed"), { errcode });
        }
      }
      return Reflect.apply(target, statement, parameters);
    },
  });
  return () => commits;
}

const faults = [
  ["is full at one of them", 1, 13],
  ["is full for a moment", 3, 13],
  ["cannot write one of them", 1, 778],
  ["cannot sync some of them", 3, 1034],
  ["stays broken", 10_000, 778],
] as const;

async function commitsOfOne(): Promise<number> {
  await using engine = await openEngine({ model, profiles });
  const counted = failCommits(Number.POSITIVE_INFINITY, 0, 0);
  expect((await engine.run({ task: "all", profile: "lead" })).result.status).toBe("completed");
  StatementSync.prototype.run = run;
  return counted();
}

// The fixture runs the checker over whatever is left when it is disposed of.
test.each(faults)(
  "a run whose disk %s has a sound log, at each of its commits",
  async (...fault) => {
    const [, count, code] = fault;
    const commits = await commitsOfOne();
    // On a busy machine more of what is written shares a commit.
    expect(commits).toBeGreaterThan(4);
    for (let at = 1; at <= commits; at++) {
      await using engine = await openEngine({ model, profiles });
      failCommits(at, count, code);
      const started = await engine.start({ task: "all", profile: "lead" }).catch(() => undefined);
      const result = await started?.result;
      StatementSync.prototype.run = run;
      if (started === undefined) continue;
      engine.abandon();
      await using after = await engine.another({ model, profiles });
      for (const recovered of await after.engine.recover()) await recovered.result;
      const again = await after.engine.resultOf(started.runId);
      // Not even its start was written, and recovery has nothing to do.
      if (again === null) expect(result?.status, `commit ${at}`).toBe("failed");
      // Nobody was told of a success that is not in the log.
      else if (result?.status === "completed") expect(again.status).toBe("completed");
    }
  },
  60_000,
);
