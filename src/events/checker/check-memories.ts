import type { Contract } from "../../contracts/contract.ts";
import { memoryNumberOf } from "../../ports/identity.ts";
import type { StoredMemory } from "../../ports/inspection.ts";
import type { RecordedCall, StoredEvent } from "../event.ts";
import { memorySlot, storedMemoryHash } from "../memory-hash.ts";
import { couldSaveMemories, memoryNamedIn } from "../upcast.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

/**
 * I10: every memory was saved by a call in the log. I7: it has the hash that the event of the call names,
 * and every named memory is stored. I11: its contract allows its scope. An interrupted call has no such
 * event, and an older event no hash: then the text is compared with the input of the call.
 */
export function checkMemories(run: CheckedRun): RunCheck {
  const { memories } = run.rows;
  const saving = new Set<string>();
  const saved = new Map<string, StoredEvent>();
  const asked = new Map<string, string>();
  /** The texts in the calls of each delegation's latest turn. */
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
          run.report("I7", `Memory ${id}: ${delegationId}, which saved it, is not in the log.`);
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
        run.report("I7", `Memory ${id}: by the log it was saved, but it is not stored.`, {
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

/** Contradictions between columns of the row. */
export function memoryRowProblem(memory: StoredMemory): string | undefined {
  if (memoryNumberOf(memory.id) !== memory.number) return "its number does not match its id.";
  if (memory.slot !== memorySlot(memory)) return "its slot does not match its key.";
  return undefined;
}

function wordsProblem(
  memory: StoredMemory,
  hash: string | undefined,
  asked: string | undefined,
): string | undefined {
  if (hash !== undefined) {
    return storedMemoryHash(memory) === hash ? undefined : "it has changed since it was saved.";
  }
  // Cleaning removes whole terminal sequences, including letters.
  if (asked === undefined || asked.includes("\u001b")) return undefined;
  return lettersOf(memory.text) === lettersOf(asked)
    ? undefined
    : "its text is not the one in the call that saved it.";
}

/** Only what cleaning does not change: letters, digits, punctuation and symbols. */
function lettersOf(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S}]/gu, "");
}

/** The problem of the fields that decide which agents may see a memory. */
function originProblem(
  { lineage, profile, workspace: stored }: StoredMemory,
  known: Known,
  workspace: string | null | undefined,
): string | undefined {
  if (stored !== workspace) return "its workspace is not that of its run.";
  if (profile !== known.created.profile) return "its profile is not that of its delegation.";
  const ids = [...withAncestors(known)].map(({ id }) => id).reverse();
  return lineage === JSON.stringify(ids) ? undefined : "its lineage is not that of its delegation.";
}

function scopeExcess({ scope }: StoredMemory, { contract, created }: Known): string | undefined {
  if (contract === undefined) return undefined;
  if (!maySaveAny(contract)) return "its contract does not allow memories.";
  if (scope !== "shared") {
    return scope === "delegated" ? undefined : `the scope ${scope} is unknown.`;
  }
  return maySaveForAll(contract, created)
    ? undefined
    : "it is shared, but its contract allows only delegated memories.";
}

/** In contracts that are older than the field, the tools decide. */
function maySaveAny({ permissions }: Contract): boolean {
  const { allowed_tools: tools, memory } = permissions;
  return memory === undefined ? couldSaveMemories(tools) : memory !== "none";
}

function maySaveForAll({ permissions }: Contract, created: Known["created"]): boolean {
  const { memory } = permissions;
  // Unknown in older contracts: a root that continues another run may have been a root or a child there.
  if (memory === undefined || memory === "shared") return true;
  return memory === "delegated" && created.parent_id === null && created.step_idx === 0;
}
