import { Agent } from "../../delegations/agent.ts";
import type { MergeOrder } from "../../delegations/changes/merge-order.ts";
import { enlist } from "../../delegations/enqueue.ts";
import type { LiveRun } from "../../delegations/live-run.ts";
import { accountFor } from "../../delegations/spread/shared-account.ts";
import type { NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { WorkspaceBinding } from "../../workspaces/workspace-binding.ts";
import type { Course } from "./course.ts";
import { keepPace } from "./keep-pace.ts";
import type { RecordedDelegation } from "./recording.ts";
import { recordedCopy } from "./replay-copies.ts";
import { replayableContract } from "./replayable-contract.ts";

export interface MakeAgentOptions {
  readonly run: LiveRun;
  readonly recorded: RecordedDelegation;
  /** Of the tools that its model was shown; undefined: nobody knows, and it does not matter. */
  readonly toolTokens: number | undefined;
  readonly merges: MergeOrder;
  readonly course: Course;
}

/** Makes a delegation again, under the id and the contract that it had. It waits to be started. */
export function makeAgent(options: MakeAgentOptions, before: readonly NewEvent[]): Agent {
  const { recorded, run } = options;
  const agent = agentFor(options);
  const { contract, contractHash, id } = agent;
  const created = run.append([...before, ...createdEvents(recorded, contractHash)], {
    contracts: new Map([[id, JSON.stringify(contract)]]),
  });
  agent.appends.add(created);
  enlist(run, agent);
  // Whether a plan was carried out is asked by the calls of its steps.
  if (recorded.callId !== null) run.byCall.set(`${recorded.parentId} ${recorded.callId}`, agent);
  return agent;
}

/** The living part alone, of a delegation that is in the log already and has not begun. */
export function agentFor(options: MakeAgentOptions): Agent {
  const { course, merges, recorded, run, toolTokens } = options;
  const { id, opening, parentId, system } = recorded;
  const parent = parentId === null ? null : (run.agents.get(parentId) ?? null);
  const contract = replayableContract(recorded);
  const agent = new Agent({
    id,
    run,
    parent,
    contract,
    contractHash: sha256(JSON.stringify(contract)),
    system,
    account: accountFor(run, parent, id, contract),
    transcript: new Transcript(opening),
    workspace: bindingOf(recorded),
    copy: recordedCopy(recorded),
    createdAt: run.parts.clock.now(),
  });
  agent.merges = merges;
  keepPace(agent, course);
  if (toolTokens !== undefined) agent.offered = { descriptions: [], tokens: toolTokens };
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
