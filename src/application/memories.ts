import { type Keys, requireKnownKeys } from "../agents/documents/nearest-key.ts";
import { type Principal, requireRole } from "../control/records/principal.ts";
import { MandateError, unlessConflict } from "../ports/mandate-error.ts";
import { type Memory, type MemoryQuery, memoryMarks } from "../ports/memory-store.ts";
import type { Store } from "../ports/store.ts";

export interface MemoryListing extends Omit<MemoryQuery, "near" | "limit"> {
  readonly limit?: number | undefined;
}

export interface MemoryDecision {
  /** `unchanged`: the same decision was stored already. */
  readonly status: "promoted" | "forgotten" | "unchanged";
  readonly memory: Memory;
}

const listingKeys = {
  text: true,
  tags: true,
  all: true,
  limit: true,
  offset: true,
} satisfies Keys<MemoryListing>;

const defaultLimit = 50;
const mostListed = 1000;

/**
 * The memories of all agents, for a person. A decision is a record of its own and changes no
 * memory. Decisions and refusals are logged before the reply.
 */
export class Memories {
  readonly #store: Store;
  readonly #by: Principal;

  constructor(store: Store, by: Principal) {
    this.#store = store;
    this.#by = by;
  }

  /** Lists memories: the latest first, or the best matches first. */
  async list(query: MemoryListing = {}): Promise<readonly Memory[]> {
    requireKnownKeys("memory.list", query, listingKeys);
    const { limit = defaultLimit } = query;
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new MandateError("usage", `limit must be a whole number from 1 on, not ${limit}.`);
    }
    return this.#store.memories.find({ ...query, limit: Math.min(limit, mostListed) });
  }

  async show(id: string): Promise<Memory> {
    const memory = await this.#store.memories.read(id);
    if (memory !== undefined) return memory;
    throw new MandateError(
      "unknown-memory",
      `There is no memory ${JSON.stringify(id.slice(0, 80))}. \`mandate memory list\` has them.`,
    );
  }

  /** Makes a memory visible to every agent in its workspace. */
  promote(id: string): Promise<MemoryDecision> {
    return this.#decide("promote", id, async (memory) => {
      requireRole("promote-memory", this.#by);
      if (memory.forgotten !== null) {
        const when = new Date(memory.forgotten.at).toISOString();
        throw new MandateError(
          "already-terminal",
          `Memory ${memory.id} was forgotten by ${memory.forgotten.by} at ${when}, for good.`,
        );
      }
      if (memory.promoted !== null || memory.scope === "shared") return "unchanged";
      return this.#mark(memory, "promoted");
    });
  }

  /** Hides a memory from all agents, permanently. Its text stays in the database. */
  forget(id: string): Promise<MemoryDecision> {
    return this.#decide("forget", id, async (memory) => {
      requireRole("forget-memory", this.#by);
      return memory.forgotten === null ? this.#mark(memory, "forgotten") : "unchanged";
    });
  }

  /** The record is created once: a second caller finds the decision made. */
  async #mark({ id }: Memory, as: keyof typeof memoryMarks): Promise<MemoryDecision["status"]> {
    const change = { resourceType: memoryMarks[as], resourceId: id, expectedVersion: 0, value: {} };
    const written = await this.#store.changeRecords([change], this.#by.id).catch(unlessConflict);
    return written === undefined ? "unchanged" : as;
  }

  async #decide(
    word: string,
    id: string,
    act: (memory: Memory) => Promise<MemoryDecision["status"]>,
  ): Promise<MemoryDecision> {
    // The id is quoted, because a typed id can contain anything.
    const note = (outcome: string): Promise<void> =>
      this.#store.noteCommand(`memory ${word} ${JSON.stringify(id)}`, this.#by.id, outcome);
    try {
      const status = await act(await this.show(id));
      await note(status);
      return { status, memory: await this.show(id) };
    } catch (error) {
      const code = error instanceof MandateError ? error.code : "failed";
      await note(code === "refused-by-policy" ? "refused" : code);
      throw error;
    }
  }
}
