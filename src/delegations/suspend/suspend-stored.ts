import { externalProvider } from "../../contracts/contract.ts";
import { type Cause, closeReasonOf, describeCause } from "../../events/cause.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import { childrenOf, isPaused, type RunState, subtree } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { cancelStored, worstSettlement } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { Interrupted } from "./interrupt.ts";

type Parts = Pick<EngineParts, "dispatcher" | "store" | "toolbox">;

/**
 * Decides from the log as it is, and writes only while nothing else was written since. False: there
 * was nothing to write.
 */
async function appendDecided(
  store: Store,
  runId: string,
  decide: (run: RunState) => Promise<readonly NewEvent[]>,
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const run = await store.readRun(runId);
    if (run === undefined || run.outcome !== null) return false;
    const { lastRunSeq } = run;
    try {
      const events = await decide(run);
      if (events.length === 0) return false;
      await store.append({ runId, by: "operator", events, ifRunSeq: lastRunSeq });
      return true;
    } catch (error) {
      const isRace = error instanceof MandateError && races.has(error.code);
      if (!isRace || tries >= mostTries) throw error;
      // Workers write faster than this process reads: the next try comes after a random moment.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * tries));
    }
  }
}

const mostTries = 100;
const races: ReadonlySet<string> = new Set(["conflict", "illegal-transition"]);

/**
 * Suspends a delegation of a distributed run and everything below it, in one append: from then on
 * their workers may write nothing, and no worker claims them. What was under way is left as after a
 * crash; a request is settled at its worst case. May be repeated.
 */
export function pauseStored({ store }: Parts, runId: string, id: string): Promise<boolean> {
  return appendDecided(store, runId, async (run) => {
    const events: NewEvent[] = [];
    for (const one of subtree(run, id)) events.push(...(await pausing(store, one)));
    return events;
  });
}

async function pausing(store: Store, delegation: Delegation): Promise<readonly NewEvent[]> {
  const { id, status } = delegation;
  // Work that was handed in waits for its merge, as before.
  if (status !== "created" && status !== "running") return [];
  if (status === "running" && delegation.waitingOn.on === "paused") return [];
  const paused: NewEvent = {
    type: "agent.paused",
    sub_agent_id: id,
    payload: { reason: "interrupt" },
  };
  if (status === "running") return [...worstSettlement(delegation), paused];
  const { execution, workspace } = await store.readContract(id);
  const strategy = workspace.root === null ? "none" : workspace.isolation;
  const attempt = { attempt: 1, of: execution.max_retries + 1 };
  return [
    { type: "agent.subagent_started", sub_agent_id: id, payload: { strategy } },
    { type: "agent.subagent_attempt", sub_agent_id: id, payload: attempt },
    paused,
  ];
}

/**
 * A person resumed a distributed run: every suspended delegation may continue, in one append. The
 * workers that claim them next continue from their last recorded steps. False: none was suspended.
 */
export function wakeStored({ store }: Parts, runId: string): Promise<boolean> {
  return appendDecided(store, runId, async (run) => {
    const [root] = run.delegations.values();
    // Callers before those that they called.
    return [...run.delegations.values()].flatMap((one): readonly NewEvent[] => {
      const isInterrupted = one.status === "running" && one.interruption !== null;
      const isWaiting = one.status === "waiting_for_merge" && one.isPaused === true;
      const isResting = one.status === "running" && one.waitingOn.on === "paused";
      if (!isInterrupted && !isWaiting && !isResting) return [];
      const resumption = one.status === "running" ? one.resumptions : 0;
      const fence = one.share?.fence || root?.share?.fence || run.fence;
      const payload = { fence, resumption };
      return [...worstSettlement(one), { type: "agent.resumed", sub_agent_id: one.id, payload }];
    });
  });
}

/**
 * Interrupts a distributed run, whichever workers have it. The interrupt is one event of its root:
 * with it the root's worker may write nothing more, and the worker that claims the root next treats
 * the children as their contracts say, as a recovery does. So it takes effect once, also where
 * workers die.
 */
export async function interruptStored(
  parts: Parts,
  run: RunState,
  { cause, dispatchRoot }: { readonly cause: Cause; dispatchRoot(): Promise<void> },
): Promise<Interrupted> {
  const { store } = parts;
  const settled = Promise.resolve();
  const [root] = run.delegations.values();
  if (root === undefined || !isOpen(root)) return { outcome: "already_terminal", settled };
  const isUnderWay = root.status === "running" && root.interruption !== null;
  const fates = await fatesOf(store, run, root);
  const outliving = [...fates].filter(([, fate]) => fate !== "cancel");
  if (root.status === "waiting_for_merge") {
    await treatStored(parts, run.id, fates);
  } else if (!isUnderWay) {
    if (root.status !== "running" || outliving.length === 0) {
      const outcome = await cancelStored(parts, run.id, run.id, cause);
      return { outcome: outcome === "cancelled" ? outcome : "already_terminal", settled };
    }
    await writeInterrupt(store, run.id, root.id, { cause });
    await dispatchRoot();
  }
  const end = untilReached(store, run.id, () => false);
  if (outliving.some(([, fate]) => fate === "continue")) {
    await untilReached(store, run.id, (now) => areTreated(now, fates));
    return { outcome: "continuing", settled: end };
  }
  await end;
  return { outcome: outliving.length > 0 ? "paused" : "cancelled", settled };
}

/**
 * The process of an agent of another program is gone, which interrupts its run. The worker that claims
 * the root next treats its children. False: no child outlives it, and the run was closed.
 */
export async function interruptLostProgram(parts: Parts, run: RunState): Promise<boolean> {
  const [root] = run.delegations.values();
  if (root === undefined) return false;
  if (root.status === "running" && root.interruption !== null) return true;
  const cause = { code: "program_gone" } as const;
  const letsAllGoOn = run.spread?.outlives_process === true;
  const fates = [...(await fatesOf(parts.store, run, root)).values()];
  if (!fates.some((fate) => letsAllGoOn || fate !== "cancel")) {
    await cancelStored(parts, run.id, run.id, cause);
    return false;
  }
  await writeInterrupt(parts.store, run.id, root.id, { cause, letsAllGoOn });
  return true;
}

/** Written once, by whichever process is first. */
function writeInterrupt(
  store: Store,
  runId: string,
  rootId: string,
  { cause, letsAllGoOn = false }: { readonly cause: Cause; readonly letsAllGoOn?: boolean },
): Promise<boolean> {
  const payload = {
    ...{ cause, reason: describeCause(cause), closes_as: closeReasonOf(cause) },
    ...(letsAllGoOn && { resumed: true as const }),
  };
  return appendDecided(store, runId, async ({ delegations }) => {
    const now = delegations.get(rootId);
    if (now?.status !== "running" || now.interruption !== null) return [];
    return [{ type: "agent.interrupted", sub_agent_id: rootId, payload }];
  });
}

type Fate = Awaited<ReturnType<Store["readContract"]>>["on_parent_interrupt"];

/** What the contract of each open child says of an interrupt of its caller. */
async function fatesOf(
  store: Store,
  run: RunState,
  root: Delegation,
): Promise<ReadonlyMap<string, Fate>> {
  const fates = new Map<string, Fate>();
  for (const child of childrenOf(run, root.id)) {
    if (!isOpen(child)) continue;
    fates.set(child.id, (await store.readContract(child.id)).on_parent_interrupt);
  }
  return fates;
}

/** After its answer a root waits for background children only, and their contracts decide. */
async function treatStored(
  parts: Parts,
  runId: string,
  fates: ReadonlyMap<string, Fate>,
): Promise<void> {
  for (const [id, fate] of fates) {
    if (fate === "cancel") await cancelStored(parts, runId, id, { code: "caller_interrupted" });
    else if (fate === "pause") await pauseStored(parts, runId, id);
  }
  if ([...fates.values()].includes("continue")) return;
  await appendDecided(parts.store, runId, async (run) => {
    const [root] = run.delegations.values();
    const open = root === undefined ? [] : childrenOf(run, root.id).filter(isOpen);
    if (root?.status !== "waiting_for_merge" || root.isPaused || open.length === 0) return [];
    return [{ type: "agent.paused", sub_agent_id: root.id, payload: { reason: "interrupt" } }];
  });
}

/** Whether the children that do not continue have nothing left to begin. */
function areTreated({ delegations }: RunState, fates: ReadonlyMap<string, Fate>): boolean {
  return [...fates].every(([id, fate]) => {
    const child = delegations.get(id);
    if (fate === "continue" || child?.status !== "running") return true;
    return fate === "pause" && child.waitingOn.on === "paused";
  });
}

/** Resolves when the condition holds, or when nothing of the run continues. */
function untilReached(
  store: Store,
  runId: string,
  isReached: (run: RunState) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const look = async (): Promise<void> => {
      const run = await store.readRun(runId).catch(() => undefined);
      if (run?.outcome === null && !isPaused(run) && !isReached(run)) return;
      stop();
      resolve();
    };
    const stop = store.subscribe((events) => {
      if (events.some(({ run_id: id, type }) => id === runId && ends.has(type))) void look();
    });
    void look();
  });
}

const ends: ReadonlySet<string> = new Set([
  "agent.paused",
  "agent.subagent_closed",
  "run.finished",
]);

/** Whether an agent of another program is the root: its own process interrupts it. */
export async function isOfProgram(store: Store, run: RunState): Promise<boolean> {
  const [root] = run.delegations.values();
  if (root === undefined) return false;
  const contract = await store.readContract(root.id).catch(() => undefined);
  return contract?.model.provider === externalProvider;
}
