import { DatabaseSync } from "node:sqlite";
import { controlRunId } from "../../ports/identity.ts";
import { memoryMarks } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import {
  openEngine,
  type Script,
  scriptedModel,
  type TestEngine,
  testProfile,
} from "../../testing/index.ts";
import { until } from "../../testing/until.ts";
import type { StoredEvent } from "../event.ts";

/**
 * A database with a bit of everything, written by the real engine: a run with nesting, a retry, a
 * denial, a question, a failure that was delivered and spawned children; a run with a subtree that
 * was cancelled, with a message that was not read; a run that was taken up after its process was
 * gone; a run with an estimate and an overrun; a run that was answered while a child still worked;
 * memories, one of them promoted; records that were made, changed, deleted and made again.
 */
export async function makeHealthyDatabase(into: string): Promise<HealthyRuns> {
  await using mandate = await openEngine({
    profiles,
    model: script,
    models: { "test/priced": scriptedModel(script) },
    config: {
      models: { providers: {}, pools: {}, prices: { "test/priced": { input: 3, output: 15 } } },
    },
  });
  const unsubscribe = answerEverything(mandate);
  const { workspace } = mandate;
  const rich = await mandate.run({ task: "everything", profile: "lead", workspace });
  unsubscribe();
  const remembered = await rememberThings(mandate);
  await decideThings(mandate.store);
  const cancelled = await runAndCancel(mandate);
  const resumed = await crashAndRecover(mandate);
  const overrun = await mandate.run({ task: "spend", profile: "spender", workspace });
  const answered = await answerAndCancel(mandate);
  const copy = new DatabaseSync(mandate.database);
  copy.prepare("VACUUM INTO ?").run(into);
  copy.close();
  const own = { overrun: overrun.runId, answered };
  return { rich: rich.runId, cancelled, resumed, remembered, ...own, control: controlRunId };
}

export interface HealthyRuns {
  readonly rich: string;
  readonly cancelled: string;
  readonly resumed: string;
  readonly remembered: string;
  readonly overrun: string;
  readonly answered: string;
  readonly control: string;
}

const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn", "spawn_await", "list_files"],
    mayDelegate: { tools: ["delegate_task", "list_files", "read_file", "ask_user"] },
    limits: { tokens: 400_000 },
  }),
  testProfile("middle", { tools: ["delegate_task", "list_files"], limits: { tokens: 90_000 } }),
  testProfile("leaf", { tools: ["list_files"], limits: { tokens: 50_000 } }),
  testProfile("flaky", { tools: ["list_files"], limits: { retries: 1 } }),
  testProfile("greedy", { tools: ["list_files"] }),
  testProfile("asker", { tools: ["ask_user"] }),
  testProfile("failing", { tools: ["list_files"] }),
  testProfile("priced", { model: { model: "test/priced" }, limits: { cost: 5 } }),
  testProfile("sleeper", { tools: ["list_files"] }),
  testProfile("keeper", { tools: ["delegate_task", "memory_save"] }),
  testProfile("noter", { tools: ["memory_save"] }),
  testProfile("spender", { tools: ["delegate_task", "list_files"], limits: { tokens: 60_000 } }),
  testProfile("burner", { tools: ["delegate_task", "list_files"] }),
  testProfile("cut", { tools: [] }),
  testProfile("poser", { tools: ["spawn"], mayDelegate: { tools: ["list_files"] } }),
];

const delegateTo = (profile: string, task = `work of ${profile}`) => ({
  tool: "delegate_task",
  input: { profile, task },
});
const save = (text: string, key: string) => ({ tool: "memory_save", input: { text, key } });
const listFiles = { tool: "list_files", input: {} };

const others = ["middle", "flaky", "greedy", "asker", "failing", "priced"];

const script: Script = ({ caller, messages }) => {
  const { attempt, profile, turn } = caller;
  const isNap = caller.task === "nap";
  switch (profile) {
    case "lead":
      if (isNap) return turn === 1 ? { calls: [delegateTo("middle", "nap")] } : "slept";
      if (turn === 1) {
        return { calls: others.map((name) => delegateTo(name)) };
      }
      if (turn === 2) {
        const input = { profile: "leaf", task: "spawned" };
        return { calls: [{ tool: "spawn", input }, { tool: "spawn", input }, listFiles] };
      }
      if (turn === 3) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
      return "all done";
    case "middle":
      if (turn > 1) return "middle done";
      return { calls: [listFiles, delegateTo(isNap ? "sleeper" : "leaf")] };
    case "flaky":
      return attempt === 1 ? { fault: "empty" } : "second time lucky";
    case "greedy":
      return turn === 1 ? { calls: [{ tool: "write_file", input: {} }] } : "was refused";
    case "asker":
      return turn === 1
        ? { calls: [{ tool: "ask_user", input: { message: "really?" } }] }
        : `heard ${messages.at(-1)?.text}`;
    case "failing":
      return { text: "answered by somebody else", served: "other/model" };
    case "priced":
      return { text: "paid for", usage: { prompt: 10, completion: 10 } };
    case "sleeper":
      return { fault: "stall" };
    case "keeper":
      return turn === 1 ? { calls: [save("for all", "rule"), delegateTo("noter")] } : "kept";
    case "noter":
      return turn === 1 ? { calls: [save("for me", "a"), save("for me too", "b")] } : "noted";
    case "spender":
      if (turn === 1) return { text: "begun", calls: [delegateTo("cut")] };
      return turn === 2 ? { text: "spent", calls: [delegateTo("burner")] } : "not asked any more";
    case "cut":
      return caller.try === 1 ? { fault: "connection", partial: "it began" } : "whole";
    case "burner":
      if (turn === 1) return { calls: [delegateTo("leaf")] };
      return { text: "burnt", usage: { prompt: 90_000, completion: 5 } };
    case "poser": {
      const input = { profile: "sleeper", task: "in the background" };
      return turn === 1 ? { calls: [{ tool: "spawn", input }] } : "answered";
    }
    default:
      return turn === 1 ? { calls: [listFiles] } : "leaf done";
  }
};

/** The child is cancelled after its caller has answered. */
async function answerAndCancel({ engine, store, workspace }: TestEngine): Promise<string> {
  const run = await engine.startRun({ task: "answer", profile: "poser", workspace });
  await run.answer;
  const [, child] = (await store.readRun(run.runId))?.delegations.keys() ?? [];
  await engine.cancel(child ?? "", "not needed any more");
  await run.result;
  return run.runId;
}

function answerEverything({ engine, store }: TestEngine): () => void {
  return store.subscribe((events) => {
    for (const event of events) {
      if (event.type !== "agent.asked") continue;
      const { ask_id: askId } = event.payload;
      const id = event.sub_agent_id ?? "";
      const told = ["one thing", "and another"].map((text) => engine.send(id, text, "person"));
      void Promise.all(told).then(() => engine.answer(askId, "yes"));
    }
  });
}

/** What a root saved is for all, what its child saved is not, until somebody shares it. */
async function rememberThings({ run, store, workspace }: TestEngine): Promise<string> {
  const { runId } = await run({ task: "remember", profile: "keeper", workspace });
  const [latest] = await store.memories.find({ limit: 1 });
  const mark = { resourceType: memoryMarks.promoted, resourceId: latest?.id ?? "" };
  await store.changeRecords([{ ...mark, expectedVersion: 0, value: {} }], "ann");
  await store.noteCommand("memory promote", "ann", "promoted");
  return runId;
}

/** One record that was changed twice, one that is gone, and one that was gone for a while. */
async function decideThings(store: Store): Promise<void> {
  const change = (resourceId: string, expectedVersion: number, value: unknown) =>
    ({ resourceType: "policy", resourceId, expectedVersion, value }) as const;
  const [registry, gone, back] = ["agent-registry:default", "profile-pin:global", "profile-pin:me"];
  const pin = { profileId: "leaf" };
  const agents = [{ agentId: "@writer", profileId: "leaf", description: "writes" }];
  await store.changeRecords([change(registry, 0, { version: 1, agents: [] })], "ann");
  await store.noteCommand("/agents pin leaf", "ann", "pinned");
  await store.changeRecords([change(gone, 0, pin), change(back, 0, pin)], "ann");
  await store.changeRecords([change(registry, 1, { version: 1, agents: [] })], "bob");
  await store.changeRecords([change(gone, 1, null), change(back, 1, null)], "bob");
  const both = [change(registry, 2, { version: 1, agents }), change(back, 0, pin)];
  await store.changeRecords(both, "ann");
}

async function runAndCancel(mandate: TestEngine): Promise<string> {
  const { runId, result } = await mandate.start({ task: "nap", profile: "lead" });
  await sleeping(mandate.store, runId);
  const run = await mandate.store.readRun(runId);
  const middle = [...(run?.delegations.values() ?? [])].find(({ depth }) => depth === 1);
  const sleeper = [...(run?.delegations.values() ?? [])].find(({ depth }) => depth === 2);
  await mandate.engine.send(sleeper?.id ?? "", "wake up", "caller");
  await mandate.engine.cancel(middle?.id ?? "", "enough");
  await result;
  return runId;
}

async function crashAndRecover(mandate: TestEngine): Promise<string> {
  const before = await mandate.another({ profiles, model: script });
  const { runId } = await before.start({ task: "nap", profile: "lead" });
  await sleeping(before.store, runId);
  before.abandon();
  const wake: Script = (request) =>
    request.caller.profile === "sleeper" ? "woke up" : script(request);
  await using after = await mandate.another({ profiles, model: wake });
  const [taken] = await after.engine.recover();
  await taken?.result;
  return runId;
}

/** Resolves when the sleeper of a run has sent its request. */
async function sleeping(store: Store, runId: string): Promise<void> {
  const isAsleep = (event: StoredEvent, run: Awaited<ReturnType<Store["readRun"]>>): boolean =>
    event.type === "agent.budget_reserved" &&
    run?.delegations.get(event.sub_agent_id ?? "")?.profile === "sleeper";
  await until("the sleeper has sent its request", async () => {
    const run = await store.readRun(runId);
    for await (const event of store.readEvents({ runId })) if (isAsleep(event, run)) return true;
    return false;
  });
}
