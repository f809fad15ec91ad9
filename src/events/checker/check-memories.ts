import type { Contract } from "../../contracts/contract.ts";
import { memoryNumberOf } from "../../ports/identity.ts";
import type { StoredMemory } from "../../ports/inspection.ts";
import type { RecordedCall, StoredEvent } from "../event.ts";
import { memorySlot, storedMemoryHash } from "../memory-hash.ts";
import { couldSaveMemories, memoryNamedIn } from "../upcast.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

/**
 * I10: every memory was saved by a call that the log has. I7: all of it is what the event of that
 * call has the hash of, and it is there if its call said so. I11: its scope is one that its contract
 * allows. A call that was cut has no such event, and an older one no hash: then the words are held
 * against those that the model asked to save.
 */
export function checkMemories(run: CheckedRun): RunCheck {
  const { memories } = run.rows;
  const saving = new Set<string>();
  const saved = new Map<string, StoredEvent>();
  const asked = new Map<string, string>();
  /** Texts in the calls of each agent's latest turn. */
  const texts = new Map<string, ReadonlyMap<string, string>>();
  const hashes = new Map<string, string>();
  let workspace: string | null | undefined;
  return {
    see(event, delegation) {
      if (event.type === "run.started") workspace = event.payload.workspace;
      if (delegation === undefined) return;
      const place = (callId: string): string => `${delegation.id} ${callId}`;
      if (event.type === "agent.model_turn") {
        texts.set(delegation.id, textsIn(event.payload.calls ?? []));
      } else if (event.type === "agent.tool_started" && event.payload.saves_memory) {
        const { call_id: id } = event.payload;
        saving.add(place(id));
        const text = texts.get(delegation.id)?.get(id);
        if (text !== undefined) asked.set(place(id), text);
      } else if (event.type === "agent.tool_completed") {
        const { call_id: callId, memory, output } = event.payload;
        if (!saving.has(place(callId))) return;
        const id = memory?.id ?? memoryNamedIn(output);
        if (id !== undefined) saved.set(`${id} ${place(callId)}`, event);
        if (memory) hashes.set(`${memory.id} ${place(callId)}`, memory.hash);
      } else if (event.type === "agent.subagent_closed") {
        texts.delete(delegation.id);
      }
    },
    end() {
      for (const memory of memories) {
        const { callId, delegationId, id } = memory;
        saved.delete(`${id} ${delegationId} ${callId}`);
        const known = run.delegations.get(delegationId);
        const where = { delegationId };
        if (known === undefined) {
          run.report("I7", `Memory ${id}: ${delegationId} saved it, and the log has no such.`);
        } else if (!saving.has(`${delegationId} ${callId}`)) {
          run.report("I10", `Memory ${id}: the log has no call ${callId} that saved it.`, where);
        } else {
          const place = `${delegationId} ${callId}`;
          const excess = scopeExcess(memory, known);
          const problem =
            originProblem(memory, known, workspace) ??
            memoryRowProblem(memory) ??
            wordsProblem(memory, hashes.get(`${id} ${place}`), asked.get(place));
          if (excess) run.report("I11", `Memory ${id}: ${excess}`, where);
          else if (problem) run.report("I7", `Memory ${id}: ${problem}`, where);
        }
      }
      for (const [place, { seq, sub_agent_id: delegationId = "" }] of saved) {
        const [id] = place.split(" ", 1);
        run.report("I7", `Memory ${id}: the log has it as saved, and it is not stored.`, {
          delegationId,
          seq,
        });
      }
    },
  };
}

function textsIn(calls: readonly RecordedCall[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { id, input } of calls) {
    const text = textIn(input);
    if (text !== undefined) texts.set(id, text);
  }
  return texts;
}

function textIn(input: unknown): string | undefined {
  const text = (input as { readonly text?: unknown } | null)?.text;
  return typeof text === "string" ? text : undefined;
}

/** What follows from other columns of the row itself. */
export function memoryRowProblem(memory: StoredMemory): string | undefined {
  if (memoryNumberOf(memory.id) !== memory.number) return "its number is not the one in its id.";
  if (memory.slot !== memorySlot(memory)) return "it is stored in another slot than its key's.";
  return undefined;
}

function wordsProblem(
  memory: StoredMemory,
  hash: string | undefined,
  asked: string | undefined,
): string | undefined {
  if (hash !== undefined) {
    return storedMemoryHash(memory) === hash ? undefined : "it is not the one that was saved.";
  }
  // Cleaning takes terminal codes out as a whole, letters included.
  if (asked === undefined || asked.includes("\u001b")) return undefined;
  return lettersOf(memory.text) === lettersOf(asked)
    ? undefined
    : "its words are not those that its agent asked to save.";
}

/** Cleaning changes spaces, line ends, spelling variants and what cannot be seen, and no letter. */
function lettersOf(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S}]/gu, "");
}

/** Who is shown a memory depends on all of this. */
function originProblem(
  { lineage, profile, workspace: stored }: StoredMemory,
  known: Known,
  workspace: string | null | undefined,
): string | undefined {
  if (stored !== workspace) return "it is stored for another workspace than that of its run.";
  if (profile !== known.created.profile) return "it is stored as that of another profile.";
  const ids = [...withAncestors(known)].map(({ id }) => id).reverse();
  return lineage === JSON.stringify(ids) ? undefined : "it is stored as that of another line.";
}

function scopeExcess({ scope }: StoredMemory, { contract, created }: Known): string | undefined {
  if (contract === undefined) return undefined;
  if (!maySaveAny(contract)) return "its contract does not let it save any.";
  if (scope !== "shared") {
    return scope === "delegated" ? undefined : `the scope ${scope} is unknown.`;
  }
  return maySaveForAll(contract, created)
    ? undefined
    : "it is for all, and its contract lets it save for its own line only.";
}

/** In a contract that is older than the field, its tools say so. */
function maySaveAny({ permissions }: Contract): boolean {
  const { allowed_tools: tools, memory } = permissions;
  return memory === undefined ? couldSaveMemories(tools) : memory !== "none";
}

function maySaveForAll({ permissions }: Contract, created: Known["created"]): boolean {
  const { memory } = permissions;
  // Older contracts do not say. A root that continues another run may have been a child there,
  // or a root: that is in another log.
  if (memory === undefined || memory === "shared") return true;
  return memory === "delegated" && created.parent_id === null && created.step_idx === 0;
}
