/**
 * The memory tools: what agents save, who may load it, and how it is shown. May import what tools may.
 */
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { memoryHash } from "../../events/memory-hash.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import type { Memory, MemoryScope, MemoryStore } from "../../ports/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import { defineTool, type Tool, type ToolOutput } from "../tool.ts";
import { cleanMemory, cleanWord, holdsSecret } from "./clean-memory.ts";
import { memoryOrigin, type OriginSource, scopeOfSave } from "./memory-scope.ts";

const longestText = 20_000;
const mostTags = 16;
const mostOfRun = 1000;

export interface MemorySources extends OriginSource, Pick<Store, "readContract"> {
  readonly memories: MemoryStore;
}

export interface MemorySaveOptions {
  readonly store: MemorySources;
  /** The scope for contracts that do not name one. */
  readonly scope: MemoryScope;
  /** Values that must not be written down anywhere. */
  readonly secrets: readonly string[];
}

const word = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._:/@#-]*$/u, "begins with a letter or digit and is one line");

const input = z.strictObject({
  text: z.string().min(1).max(longestText).describe("What to remember, complete in itself."),
  tags: z.array(word(64)).max(mostTags).optional().describe("Words to find it by."),
  key: word(128)
    .optional()
    .describe("What it is about; what you saved under the same key before is replaced."),
});

/**
 * Saves a memory. The effect is `read`, since it changes no file: read-only contracts may grant it.
 * The scope `memory:write` controls it.
 */
export function memorySaveTool({ store, scope, secrets }: MemorySaveOptions): Tool {
  return defineTool({
    name: "memory_save",
    description:
      "Save something worth knowing beyond this task to memory, where agents find it again. Say " +
      "where it comes from. Never save keys, passwords or other secrets.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: ["memory:write"],
    changes: "none",
    savesMemory: true,
    input,
    preflight: (given) => void prepare(given, secrets),
    async execute(given, { callId, delegationId, runId }): Promise<ToolOutput> {
      const prepared = prepare(given, secrets);
      const origin = await memoryOrigin(store, runId, delegationId);
      if (origin === null) return { text: "Error: there is no memory here.", isError: true };
      const { lineage, profile, workspace } = origin;
      const own = { runId, delegationId, callId, lineage, profile, workspace };
      const { permissions } = await store.readContract(delegationId);
      // The contract counts, not the present configuration.
      const allowed = permissions.memory ?? scope;
      if (allowed === "none") {
        return { text: "Error: your contract lets you save nothing.", isError: true };
      }
      const saving = { ...prepared, ...own, scope: scopeOfSave(allowed, origin) };
      const outcome = await store.memories.save(saving, mostOfRun);
      if (outcome.saved) {
        const { memory } = outcome;
        return { text: describe(memory), memory: { id: memory.id, hash: memoryHash(memory) } };
      }
      const text = `This run has saved ${mostOfRun} memories, which is the most. Put what matters into your result.`;
      return { text: `Error: ${text}`, isError: true };
    },
  });
}

interface Prepared {
  readonly text: string;
  readonly tags: readonly string[];
  readonly key: string | null;
}

function prepare(
  { text, tags = [], key }: z.infer<typeof input>,
  secrets: readonly string[],
): Prepared {
  const prepared = {
    text: cleanMemory(text),
    tags: [...new Set(tags.map(cleanWord))],
    key: key === undefined ? null : cleanWord(key),
  };
  if (prepared.text === "") {
    throw new CallDenied("memory_empty", "There is nothing in this text that could be read.");
  }
  if (prepared.text.length > longestText) {
    throw new CallDenied("memory_too_long", `A memory has at most ${longestText} characters.`);
  }
  const all = [prepared.text, ...prepared.tags, prepared.key ?? ""].join("\n");
  // Lower case would hide what a key looks like.
  if (holdsSecret(`${all}\n${tags.join("\n")}\n${key ?? ""}`, secrets)) {
    throw new CallDenied(
      "memory_secret",
      "This looks like a key, a token or a password, and memories are read by others. Save what it " +
        "is for and where it is kept, not the secret itself.",
    );
  }
  return prepared;
}

function describe({ id, scope, supersedes, workspace }: Memory): string {
  const where = workspace === null ? "All agents" : "All agents in this workspace";
  const who =
    scope === "shared"
      ? `${where} can load it.`
      : "You, those above you and those below you in this run can load it; others when a person shares it.";
  return `Saved as ${id}${supersedes === null ? "" : `, in place of ${supersedes}`}. ${who}`;
}
