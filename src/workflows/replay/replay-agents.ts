import { Agent } from "../../delegations/agent.ts";
import { enlist } from "../../delegations/enqueue.ts";
import { Account } from "../../delegations/ledger.ts";
import type { LiveRun } from "../../delegations/live-run.ts";
import { MergeOrder } from "../../delegations/merge-order.ts";
import type { NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { WorkspaceBinding } from "../../workspaces/workspace-binding.ts";
import type { RecordedDelegation } from "./recording.ts";
import { recordedCopy } from "./replay-copies.ts";
import { replayableContract } from "./replayable-contract.ts";

export interface MakeAgentOptions {
  readonly run: LiveRun;
  readonly recorded: RecordedDelegation;
  /** Of the tools that its model was shown; undefined: nobody knows, and it does not matter. */
  readonly toolTokens: number | undefined;
  readonly before?: readonly NewEvent[];
}

/** Makes a delegation again, under the id and the contract that it had. It waits to be started. */
export function makeAgent({ before = [], recorded, run, toolTokens }: MakeAgentOptions): Agent {
  const { id, opening, parentId, system } = recorded;
  const parent = parentId === null ? null : (run.agents.get(parentId) ?? null);
  const contract = replayableContract(recorded);
  const json = JSON.stringify(contract);
  const contractHash = sha256(json);
  const { cost, tokens } = contract.budget;
  const agent = new Agent({
    id,
    run,
    parent,
    contract,
    contractHash,
    system,
    account: new Account(parent?.account ?? run.account, tokens, cost),
    transcript: new Transcript(opening),
    workspace: bindingOf(recorded),
    copy: recordedCopy(recorded),
    createdAt: run.parts.clock.now(),
  });
  agent.merges = new RecordedOrder();
  if (toolTokens !== undefined) agent.offered = { descriptions: [], tokens: toolTokens };
  const created = run.append([...before, ...createdEvents(recorded, contractHash)], {
    contracts: { [id]: json },
  });
  agent.willSettle(created);
  enlist(run, agent);
  return agent;
}

/** In which order work is taken over is recorded: when a merge comes, it is its turn. */
export class RecordedOrder extends MergeOrder {
  override get hasAny(): boolean {
    return true;
  }

  override turn(): undefined {
    return undefined;
  }
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
