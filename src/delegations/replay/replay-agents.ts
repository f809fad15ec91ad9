import type { Contract } from "../../contracts/contract.ts";
import { type Cause, describeCause } from "../../events/cause.ts";
import type { FileEvidence, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { create } from "../../events/lifecycle.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import type { ChangedFile, CollectedChanges } from "../../workspaces/git/copies/collect-changes.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import type { MergeOrder } from "../changes/merge-order.ts";
import { Conversation, LiveDelegation } from "../live-delegation.ts";
import { budgetFor, type LiveRun } from "../live-run.ts";
import { type Course, keepPace } from "./course.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

export interface MakeAgentOptions {
  readonly run: LiveRun;
  readonly recorded: RecordedDelegation;
  /** Of the tools that its model was shown; undefined: nobody knows, and it does not matter. */
  readonly toolTokens: number | undefined;
  readonly merges: MergeOrder;
  readonly course: Course;
}

/** Makes a delegation again, under the id and the contract that it had. It waits to be started. */
export function makeAgent(options: MakeAgentOptions, before: readonly NewEvent[]): LiveDelegation {
  const { recorded, run } = options;
  const agent = agentFor(options);
  const { contract, id } = agent;
  const created = run.append([...before, ...createdEvents(recorded, agent.state.contractHash)], {
    contracts: new Map([[id, JSON.stringify(contract)]]),
  });
  agent.process.appends.add(created);
  run.delegations.add(agent);
  // Whether a plan was carried out is asked by the calls of its steps.
  if (recorded.callId !== null)
    run.delegations.byCall.set(`${recorded.parentId} ${recorded.callId}`, agent);
  return agent;
}

/** The living part alone, of a delegation that is in the log already and has not begun. */
export function agentFor(options: MakeAgentOptions): LiveDelegation {
  const { course, merges, recorded, run, toolTokens } = options;
  const { id, opening, parentId, system } = recorded;
  const parent = parentId === null ? null : (run.delegations.byId.get(parentId) ?? null);
  const contract = replayableContract(recorded);
  const [created] = createdEvents(recorded, sha256(JSON.stringify(contract)));
  if (created?.type !== "agent.subagent_created") throw new Error(`${id} has no beginning`);
  const agent = new LiveDelegation(
    {
      ...{ id, run, parent, contract, system },
      budget: budgetFor(run, parent, { id, contract }),
      workspace: bindingOf(recorded),
      copy: recordedCopy(recorded),
    },
    create({ ...created, at: run.parts.clock.now() }),
    new Conversation(opening),
  );
  agent.process.merges = merges;
  keepPace(agent, course);
  if (toolTokens !== undefined)
    agent.process.tools.offered = { descriptions: [], tokens: toolTokens };
  return agent;
}

function createdEvents({ events }: RecordedDelegation, contractHash: string): readonly NewEvent[] {
  const last = events.findIndex(({ type }) => !making.has(type));
  return events.slice(0, last < 0 ? events.length : last).map((event): NewEvent => {
    const { payload, sub_agent_id: id = "", type } = event;
    if (type !== "agent.subagent_created") {
      return { type, sub_agent_id: id, payload } as NewEvent;
    }
    return { type, sub_agent_id: id, payload: { ...payload, contract_hash: contractHash } };
  });
}

const making: ReadonlySet<string> = new Set([
  "agent.subagent_created",
  "agent.model_clamped",
  "agent.skills_clamped",
]);

/** Where it worked, by name: tools of a replay open nothing. */
function bindingOf({ contract }: RecordedDelegation): WorkspaceBinding | null {
  const { allow_writes: allowWrites, isolation, root } = contract.workspace;
  return root === null ? null : { root, isolation, allowWrites, writeRoots: [] };
}

/**
 * The contract under which a delegation lives again: the recorded one, without what is about the
 * world outside. Deadlines do not run, since what ran into one is in the log; no folder is opened
 * and no report written; what a rule said of a call, and whether a person was asked, is in the log.
 */
function replayableContract({ contract, events }: RecordedDelegation): Contract {
  const { rules: _rules, ...permissions } = contract.permissions;
  return {
    ...contract,
    permissions: wroteOutside(events) ? permissions : { ...permissions, write_roots: ["/"] },
    execution: { ...contract.execution, attempt_timeout_ms: longest },
    outputs: { ...contract.outputs, report_path_pattern: null },
    workspace: { ...contract.workspace, root: null },
    // A call that its agent's end left behind is waited for by nobody, but holds a timer so long.
    deadlines: {
      first_token: longest,
      stall: longest,
      tool: longestCall,
      idle: longest,
      total: longest,
    },
  };
}

/** Then its write roots decide again; else there is nothing for them to decide. */
function wroteOutside(events: RecordedDelegation["events"]): boolean {
  return events.some(
    ({ payload, type }) =>
      type === "agent.subagent_failed" && payload.cause.code === "wrote_outside",
  );
}

const longestCall = 30_000;

/** What a timer can hold. */
const longest = 2 ** 31 - 1;

/** The copy that a delegation had, by name only: there is no folder behind it. */
export function recordedCopy({ contract }: RecordedDelegation): WorkingCopy | null {
  const { base, copy, root } = contract.workspace;
  if (copy === undefined) return null;
  return {
    id: copy.id,
    home: "",
    folder: root ?? "",
    root: root ?? "",
    source: { kind: "folder", toplevel: copy.of, prefix: "" },
    head: null,
    base: base ?? "",
    baseTree: "",
    dirty: false,
    objects: [],
    omitted: [],
  };
}

/** Copies and merges as the log tells of them, without git and without a single file. */
export function recordedCopies(recording: Recording): WorkingCopies {
  const inCopy = (id: string) => {
    const found = [...recording.delegations.values()].filter(
      ({ contract }) => contract.workspace.copy?.id === id,
    );
    return found.at(-1);
  };
  const copies: Partial<WorkingCopies> = {
    has: (id) => inCopy(id) !== undefined && !isGone(inCopy(id)),
    take(id) {
      const copy = recordedCopy(inCopy(id) ?? missing(id));
      return copy ?? missing(id);
    },
    async collect({ id }) {
      const end = endingOf(inCopy(id) ?? missing(id));
      if (end.trouble !== undefined) throw new Error(end.trouble);
      return {
        commit: end.merge?.payload.commit ?? null,
        tree: "",
        files: end.files,
        problems: [],
      };
    },
    async diff({ id }) {
      const { merge } = endingOf(inCopy(id) ?? missing(id));
      const hash = merge?.payload.diff?.hash;
      return { text: recording.artifacts.get(hash ?? "") ?? "" } as Diff;
    },
    async integrate({ changes, copy }) {
      const end = endingOf(inCopy(copy.id) ?? missing(copy.id));
      return integrationOf(end, changes);
    },
    async remove() {},
    retire() {},
  };
  // A class has its own idea of who is one; what the engine calls of it is all here.
  return copies as WorkingCopies;
}

type Diff = Awaited<ReturnType<WorkingCopies["diff"]>>;

function missing(id: string): never {
  throw new Error(`The recording has no working copy ${id}.`);
}

function isGone(delegation: RecordedDelegation | undefined): boolean {
  return endingOf(delegation ?? missing("")).cause?.code === "working_copy_gone";
}

/** How what it made was received. */
function endingOf({ events }: RecordedDelegation) {
  const merge = events.find((event) => event.type === "agent.worktree_merged");
  const failed = events.find((event) => event.type === "agent.subagent_failed");
  const closed = events.find((event) => event.type === "agent.subagent_closed");
  const { files = [], files_total: total = files.length } = closed?.payload.seal ?? {};
  const cause = failed?.payload.cause;
  return {
    merge,
    cause,
    files: Array.from({ length: total }, (_, index) => asChanged(files[index])),
    trouble: cause?.code === "changes_not_merged" ? cause.text : undefined,
  };
}

/** A seal names five hundred at most; of the others it is known that there were some. */
function asChanged(file: FileEvidence | undefined): ChangedFile {
  return { path: "", before: null, after: null, ...file, mode: "file" };
}

function integrationOf(
  { cause, merge }: ReturnType<typeof endingOf>,
  { commit }: CollectedChanges,
): IntegrationResult {
  const { conflicted_files: conflicted = [], files = [], strategy } = merge?.payload ?? {};
  if (cause === undefined) {
    const how = strategy as Extract<IntegrationResult, { status: "merged" }>["how"];
    return { status: "merged", how, child: commit, files: files.map(asChanged), commit: null };
  }
  const kept = {
    files: conflicted,
    sentence: "text" in cause ? cause.text : describeCause(cause),
    ref: null,
    keptIn: "vault" as const,
  };
  if (strategy === "conflict" || strategy === "violation") return { status: strategy, ...kept };
  return { status: "refused", reason: reasons[cause.code] ?? "repository", ...kept };
}

type Refused = Extract<IntegrationResult, { status: "refused" }>["reason"];

const reasons: { readonly [Code in Cause["code"]]?: Refused } = {
  changes_refused: "problems",
  check_failed: "check-failed",
};
