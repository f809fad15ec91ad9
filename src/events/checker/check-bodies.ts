import type { BodyKind, Inspection } from "../../ports/inspection.ts";
import type { Store } from "../../ports/store.ts";
import type { ArtifactReference, StoredEvent } from "../event.ts";
import { sha256 } from "../hash-chain.ts";
import type { Violation } from "./check-report.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

interface Reference {
  readonly kind: BodyKind;
  readonly hash: string;
  readonly seq: number;
  readonly delegationId: string | undefined;
}

/**
 * I7: a text or an artifact has the hash that it is stored under, and exists as long as an event refers
 * to it. Pruning removes unreferenced bodies, so it has to know every reference.
 */
export class BodiesCheck {
  readonly #inspection: Inspection;
  readonly #store: Store;
  /** Whether each body that was read exists, by kind and hash. */
  readonly #seen = new Map<string, boolean>();
  readonly #violations: Violation[];

  constructor(inspection: Inspection, store: Store, violations: Violation[]) {
    this.#inspection = inspection;
    this.#store = store;
    this.#violations = violations;
  }

  /** Checks the bodies that a run refers to. */
  async lookUp(run: CheckedRun, references: readonly Reference[]): Promise<void> {
    if (references.length === 0) return;
    const known = await this.#inspection.references(run.id);
    for (const reference of references) {
      const { delegationId, hash, kind, seq } = reference;
      const where = { ...(delegationId !== undefined && { delegationId }), seq };
      if (!(await this.#isThere(kind, hash)) && (await this.#isStillNeeded(run.id))) {
        run.report("I7", `The ${kind} ${hash} that it refers to is not stored.`, where);
      } else if (seq <= known.through && !known.hashes.has(hash)) {
        const message = `Its reference to the ${kind} ${hash} is not stored: pruning would remove the ${kind}.`;
        run.report("I7", message, where);
      }
    }
  }

  /** Checks the stored bodies that no checked run refers to. */
  async lookAtRest(): Promise<void> {
    for (const kind of ["text", "artifact"] as const) {
      for await (const hash of this.#inspection.bodyHashes(kind)) await this.#isThere(kind, hash);
    }
  }

  async #isThere(kind: BodyKind, hash: string): Promise<boolean> {
    const key = `${kind} ${hash}`;
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    const body = await this.#inspection.readBody(kind, hash);
    this.#seen.set(key, body !== undefined);
    if (body !== undefined && sha256(body) !== hash) {
      const message = `The content of the stored ${kind} ${hash} has another hash.`;
      this.#violations.push({ invariant: "I7", message });
    }
    return body !== undefined;
  }

  /** Another process may prune the run while it is checked. */
  async #isStillNeeded(runId: string): Promise<boolean> {
    return (await this.#store.findRun(runId)) !== undefined;
  }
}

/** Collects the references of one run's events. */
export class BodyReferences implements RunCheck {
  readonly references: Reference[] = [];
  readonly #named = new Set<string>();
  /** The stored plans that calls name, by call. */
  readonly #plans = new Map<string, string>();

  readonly see: RunCheck["see"] = (event, delegation) => {
    for (const { hash } of artifactsIn(event)) this.#add("artifact", hash, event);
    const { payload, sub_agent_id: id, type } = event;
    if (type === "agent.subagent_created") this.#seeContract(event, delegation);
    else if (type === "agent.model_turn") {
      for (const call of payload.calls ?? []) {
        const plan = planIn(call.input);
        if (plan !== undefined) this.#plans.set(`${id} ${call.id}`, plan);
      }
    } else if (type === "run.planned") {
      const plan = this.#plans.get(`${payload.by} ${payload.call_id}`);
      if (plan !== undefined) this.#add("artifact", plan, event);
    }
  };

  #seeContract(event: StoredEvent, delegation: Known | undefined): void {
    const prompt = delegation?.contract?.profile.prompt;
    if (prompt !== undefined && isHash(prompt)) this.#add("text", prompt, event);
  }

  #add(kind: BodyKind, hash: string, { seq, sub_agent_id: delegationId }: StoredEvent): void {
    if (this.#named.has(hash)) return;
    this.#named.add(hash);
    this.references.push({ kind, hash, seq, delegationId });
  }
}

function artifactsIn({ payload, type }: StoredEvent): readonly ArtifactReference[] {
  switch (type) {
    case "agent.subagent_created":
      return defined(payload.bundle);
    case "agent.subagent_waiting_for_merge":
      return defined(payload.artifact, payload.bundle);
    case "agent.worktree_merged":
      return defined(payload.diff);
    case "agent.tool_completed":
      return defined(payload.artifact);
    default:
      return none;
  }
}

const none: readonly ArtifactReference[] = [];

function defined(...references: readonly (ArtifactReference | undefined)[]) {
  return references.filter((one) => one !== undefined);
}

function planIn(input: unknown): string | undefined {
  const plan = (input as { readonly plan?: unknown } | null)?.plan;
  return typeof plan === "string" && isHash(plan) ? plan : undefined;
}

function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
