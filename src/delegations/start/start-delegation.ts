import {
  type Contract,
  externalProfile,
  externalProvider,
  openingOf,
} from "../../contracts/contract.ts";
import type { Granted } from "../../contracts/narrow.ts";
import type { ReceiptLine } from "../../contracts/receipt.ts";
import {
  type Resolved,
  resolveProfile,
  type Unresolved,
} from "../../control/records/resolve-profile.ts";
import type { ArtifactReference, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { create as createDelegation } from "../../events/lifecycle.ts";
import { rootFactsOf } from "../../events/root-facts.ts";
import { CallDenied, MandateError } from "../../ports/mandate-error.ts";
import { misnamedInProfile, misnamedTools } from "../../tools/find-misnamed.ts";
import { GitFailure } from "../../workspaces/git/git-failure.ts";
import { ownershipOverlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { Stopped } from "../ends/ending.ts";
import { Conversation, LiveDelegation } from "../live-delegation.ts";
import { budgetFor, type LiveRun } from "../live-run.ts";
import { requireOutputSchema } from "../next.ts";
import { ceilingOf, fitToBudget, grant } from "./grant.ts";
import { makeContract } from "./make-contract.ts";
import {
  chooseIsolation,
  obstacleToWriting,
  type Placement,
  place,
  type Start,
  surroundingsOf,
} from "./placement.ts";

export type Started = Made | Unresolved;

interface Made {
  readonly agent: LiveDelegation;
  readonly receipt: readonly ReceiptLine[];
  readonly created: Promise<unknown>;
}

/** A delegation that was agreed on, and is not written yet. */
interface Agreed {
  readonly id: string;
  readonly start: Start;
  readonly resolved: Resolved;
  readonly granted: Granted;
  /** What its fresh copy holds, for workers on other machines. */
  readonly bundle?: ArtifactReference | undefined;
}

/**
 * From a request to a child that is queued, under a contract: find its profile, narrow what it may
 * do, write both down. What is refused leaves no row. At once, unless a copy is to be made.
 */
export function startDelegation(start: Start): Started | Promise<Started> {
  const { client, models, request, run, way } = start;
  const { limits, store } = run.parts;
  if (typeof request.task !== "string" || request.task.trim() === "")
    return { rule: "task", reason: "task is required" };
  const resolved =
    client === undefined ? resolveProfile(run.parts, request, way) : ofProgram(client, models);
  if (!("profile" in resolved)) return resolved;
  const misnamed = misnamedNames(start, resolved);
  if (misnamed !== undefined) return { rule: "slip", reason: misnamed };
  if (sizeOf(run) >= limits.maxChildren) {
    return {
      rule: "children",
      reason: `the run already has ${limits.maxChildren} delegations, which is its limit`,
    };
  }
  try {
    const granted = grant(start, resolved);
    if (!granted.allowed) return { rule: granted.rule, reason: granted.reason };
    const agreed = { id: store.newDelegationId(), start, resolved, granted };
    if (run.settings.workspace === null) return create(agreed, null);
    const unwritable = obstacleToWriting(start, granted);
    if (unwritable !== undefined) return fault("workspace_read_only", unwritable);
    const { profile } = resolved;
    const isolation = chooseIsolation(start, profile, granted);
    if (isolation === "sandbox") return createInCopy(agreed);
    const { folder } = profile.workspace ?? {};
    const { write_roots: roots } = granted.mayUse;
    return create(agreed, place(start, isolation, roots, { copy: null, folder }));
  } catch (error) {
    return asRefusal(error);
  }
}

/** The agent of another program may delegate, and has no other tools of ours. */
function ofProgram(client: string, models: readonly string[] = []): Resolved {
  const profile: Resolved["profile"] = {
    name: externalProfile,
    description: `An agent of ${client}`,
    capabilities: ["primary"],
    prompt: "",
    model: { model: `${externalProvider}/${client}`, ...(models.length > 0 && { allow: models }) },
    limits: { retries: 0 },
    origin: "session",
  };
  return { profile, receipt: [] };
}

function misnamedNames(
  { caller, request: { tools }, run }: Start,
  { profile }: Resolved,
): string | undefined {
  const held = () => ceilingOf(run, caller).authority;
  const own = profile.project?.own;
  const inProfile =
    (own && misnamedInProfile(run.parts, own, held)) ?? misnamedInProfile(run.parts, profile, held);
  if (inProfile !== undefined || caller !== null || tools === undefined) return inProfile;
  return misnamedTools(run.parts, tools, held);
}

function asRefusal(error: unknown): Unresolved {
  if (error instanceof MandateError) {
    const { code, message: reason } = error;
    // A missing model is no refusal: the caller configures one and asks again.
    const isAboutModel = code === "model-not-configured" || code === "unknown-model";
    return { rule: code, reason, ...(isAboutModel && { code }) };
  }
  if (error instanceof CallDenied) return { rule: error.rule, reason: error.message };
  throw error;
}

/** The copy is made of the state that the caller's folder has now, whenever the child gets a slot. */
async function createInCopy(agreed: Agreed): Promise<Started> {
  const { granted, id, start } = agreed;
  const { caller, run } = start;
  run.delegations.starting++;
  try {
    const copies = await run.parts.copies();
    const kept = start.copy === "new" ? undefined : start.copy;
    const signal = start.signal?.();
    const source = surroundingsOf(start).root;
    const copy = kept ?? (await copies.create({ source, id, ...(signal && { signal }) }));
    try {
      const fresh = kept ? undefined : { run, caller, copies, copy };
      const bundle = fresh && (await run.execution.transport?.packStart(fresh));
      signal?.throwIfAborted();
      if (caller?.process.end.isEnding) throw new Stopped({ code: "caller_closed" });
      const placement = place(start, "sandbox", granted.mayUse.write_roots, { copy });
      const started = await create({ ...agreed, bundle }, placement);
      if (kept !== undefined) return started;
      // A child that was refused, or whose creation was not written, needs no copy.
      if (!("agent" in started)) await copies.remove(copy);
      else started.created.catch(() => copies.remove(copy));
      return started;
    } catch (error) {
      if (kept === undefined) await copies.remove(copy);
      throw error;
    }
  } catch (error) {
    if (!isMachineFault(error)) return asRefusal(error);
    const sentence = error.message.endsWith(".") ? error.message : `${error.message}.`;
    return fault("working_copy", `Its working copy could not be made: ${sentence}`);
  } finally {
    run.delegations.starting--;
  }
}

/** A missing git or a disk that fails is no mistake of the caller, and no model can change it. */
function isMachineFault(error: unknown): error is Error {
  if (error instanceof GitFailure) return error.kind !== "aborted";
  if (!(error instanceof Error) || error instanceof MandateError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && /^E[A-Z0-9]+$/.test(code);
}

function fault(rule: string, reason: string): Unresolved {
  return { rule, reason, isFault: true, code: "usage" };
}

function create(agreed: Agreed, placement: Placement | null): Started | Promise<Started> {
  const { id, resolved, start } = agreed;
  const { run, caller, way } = start;
  const { profile } = resolved;
  const schema = start.request.outputSchema ?? profile.exit?.outputSchema;
  if (schema) requireOutputSchema(schema, profile.name);
  const rival = conflictingOwner(start);
  if (rival !== undefined) return { rule: "ownership", reason: rival };
  const fitted = fitToBudget(start, resolved, agreed.granted, placement);
  const { granted, system } = fitted;
  const contract = makeContract(start, resolved, fitted, placement);
  const json = JSON.stringify(contract);
  const creation = createdEvent({ ...agreed, granted }, contract, sha256(json));
  const agent = new LiveDelegation(
    {
      id,
      run,
      parent: caller,
      contract,
      system,
      workspace: placement?.binding ?? null,
      budget: budgetFor(run, caller, { id, contract }),
      copy: placement?.copy ?? null,
    },
    createDelegation({ ...creation, at: run.parts.clock.now() }),
    new Conversation(start.opening ?? openingOf(contract)),
  );
  const events = [...(start.before ?? []), creation, ...clampedEvents(id, granted)];
  const root = caller === null ? { root: rootFactsOf(contract) } : undefined;
  const created = run.append(events, { contracts: new Map([[id, json]]), ...root });
  agent.process.appends.add(created);
  run.delegations.add(agent);
  if (way === "delegate") run.delegations.joining.add(id);
  if (way === "root" || way === "session") run.delegations.root = agent;
  const started = { agent, receipt: granted.receipt, created };
  if (way === "session") return started;
  const begun = run.execution.begin(agent, created);
  return begun === undefined ? started : begun.then((refused) => refused ?? started);
}

/** Children that may change the same paths do not work side by side. */
function conflictingOwner({ caller, request: { owns = [] } }: Start): string | undefined {
  if (owns.length === 0) return undefined;
  const rival = caller?.process.children.find(
    ({ contract, process }) =>
      process.end.result === null && ownershipOverlaps(owns, contract.workspace.owns),
  );
  if (rival === undefined) return undefined;
  return `What it owns overlaps with what ${rival.id} owns (${rival.contract.workspace.owns.join(", ")}), which has not ended yet. Wait for it first.`;
}

function createdEvent(
  { bundle, granted: { receipt }, id, start: { callId, client, request, run } }: Agreed,
  contract: Contract,
  hash: string,
) {
  const { resumedAt, resumedFrom } = request;
  return {
    type: "agent.subagent_created" as const,
    sub_agent_id: id,
    payload: {
      parent_id: contract.parent.sub_agent_id,
      call_id: callId,
      step_idx: contract.parent.step_idx,
      depth: contract.parent.depth,
      profile: contract.profile.id,
      ...(client !== undefined && { client }),
      title: contract.step.title,
      contract_hash: hash,
      ...run.execution.recorded.delegation(contract),
      ...(bundle && { bundle }),
      ...(resumedFrom !== undefined && { resumed_from: resumedFrom }),
      ...(resumedAt !== undefined && { resumed_at: resumedAt }),
      ...(receipt.length > 0 && { receipt }),
    },
  };
}

function clampedEvents(id: string, { receipt }: Granted): NewEvent[] {
  return receipt.flatMap(({ field, granted, reason, requested }): NewEvent[] => {
    if (reason === undefined) return [];
    if (field === "model") {
      const payload = { requested: String(requested), granted: String(granted) };
      return [{ type: "agent.model_clamped", sub_agent_id: id, payload }];
    }
    if (field !== "skills") return [];
    const payload = { requested: requested as string[], granted: granted as string[] };
    return [{ type: "agent.skills_clamped", sub_agent_id: id, payload }];
  });
}

/** How many delegations the run has, whichever process works on them. */
function sizeOf({ delegations, execution }: LiveRun): number {
  const { byId, starting } = delegations;
  return Math.max(byId.size, execution.log?.delegations.size ?? 0) + starting;
}
