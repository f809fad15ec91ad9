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
import { type Course, followCourse } from "./course.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

export interface AgentOptions {
  readonly run: LiveRun;
  readonly recorded: RecordedDelegation;
  /** Tokens of its tool descriptions; undefined: unknown, because it never asked a model. */
  readonly toolTokens: number | undefined;
  readonly merges: MergeOrder;
  readonly course: Course;
}

/** Creates a recorded delegation under its recorded id and contract. It waits to be started. */
export function createAgent(options: AgentOptions, before: readonly NewEvent[]): LiveDelegation {
  const { recorded, run } = options;
  const agent = liveAgentFor(options);
  const { contract, id } = agent;
  const created = run.append([...before, ...createdEvents(recorded, agent.state.contractHash)], {
    contracts: new Map([[id, JSON.stringify(contract)]]),
  });
  agent.process.appends.add(created);
  run.delegations.add(agent);
  // Plans look up their children by call.
  if (recorded.callId !== null)
    run.delegations.byCall.set(`${recorded.parentId} ${recorded.callId}`, agent);
  return agent;
}

/** Only the live delegation, for one that is in the replay's log already and has not started. */
export function liveAgentFor(options: AgentOptions): LiveDelegation {
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
  followCourse(agent, course);
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

/** The recorded folder, as a name only: tools of a replay open no files. */
function bindingOf({ contract }: RecordedDelegation): WorkspaceBinding | null {
  const { allow_writes: allowWrites, isolation, root } = contract.workspace;
  return root === null ? null : { root, isolation, allowWrites, writeRoots: [] };
}

/**
 * The contract of a replayed delegation: the recorded one without its effects outside the log. No
 * deadline runs, no folder is opened and no report is written. Rules are left out, because refusals
 * and approvals are recorded.
 */
function replayableContract({ contract, events }: RecordedDelegation): Contract {
  const { rules: _rules, ...permissions } = contract.permissions;
  return {
    ...contract,
    permissions: wroteOutside(events) ? permissions : { ...permissions, write_roots: ["/"] },
    execution: { ...contract.execution, attempt_timeout_ms: longest },
    outputs: { ...contract.outputs, report_path_pattern: null },
    workspace: { ...contract.workspace, root: null },
    // A call that is still open when its delegation ends keeps a timer for so long.
    deadlines: {
      first_token: longest,
      stall: longest,
      tool: longestCall,
      idle: longest,
      total: longest,
    },
  };
}

/** Whether it failed for its write roots: then they must decide again. */
function wroteOutside(events: RecordedDelegation["events"]): boolean {
  return events.some(
    ({ payload, type }) =>
      type === "agent.subagent_failed" && payload.cause.code === "wrote_outside",
  );
}

const longestCall = 30_000;

/** The longest delay of a timer. */
const longest = 2 ** 31 - 1;

/** The working copy of a recorded delegation, as a name without a folder. */
function recordedCopy({ contract }: RecordedDelegation): WorkingCopy | null {
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

/** Working copies and merges from the log, without git and without files. */
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
  // `WorkingCopies` has private fields; these are all the methods that the engine calls.
  return copies as WorkingCopies;
}

type Diff = Awaited<ReturnType<WorkingCopies["diff"]>>;

function missing(id: string): never {
  throw new Error(`The recording has no working copy ${id}.`);
}

function isGone(delegation: RecordedDelegation | undefined): boolean {
  return endingOf(delegation ?? missing("")).cause?.code === "working_copy_gone";
}

/** The recorded merge of its changes, or the cause of its failure. */
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

/** A seal lists at most five hundred files; the others are known only by number. */
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
    return { status: "merged", how, child: commit, files: files.map(asChanged) };
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
