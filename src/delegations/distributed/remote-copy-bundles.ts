import type { ArtifactReference, StoredEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { ReceivedChanges } from "../../workspaces/git/travel/receive-changes.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";

/** Where the log says that the store keeps the bundles of a delegation's copy. */
export interface CopyBundles {
  /** What its copy was when it was made. Absent: its copy does not travel. */
  readonly start?: ArtifactReference | undefined;
  /** What it had changed when it handed in its work. */
  readonly changes?: ArtifactReference | undefined;
}

export function bundlesIn(events: Iterable<StoredEvent>): CopyBundles {
  let bundles: CopyBundles = {};
  for (const { payload, type } of events) {
    if (type === "agent.subagent_created") bundles = { start: payload.bundle };
    else if (type === "agent.subagent_waiting_for_merge") {
      bundles = { ...bundles, changes: payload.bundle };
    }
  }
  return bundles;
}

export async function eventsOf(store: Store, delegationId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ delegationId })) events.push(event);
  return events;
}

/**
 * Puts what a fresh copy holds where every worker finds it, before anybody is told of the delegation.
 * Undefined: whoever works on it sees the copy itself.
 */
export async function packStart(
  run: LiveRun,
  caller: LiveDelegation | null,
  copies: WorkingCopies,
  copy: WorkingCopy,
): Promise<ArtifactReference | undefined> {
  const { sendsCopies, store } = run.parts;
  // A root's work is merged into the person's folder, by whoever works on it: it stays there.
  if (caller === null || sendsCopies !== true) return undefined;
  return store.keepArtifact(await copies.pack(copy));
}

/** The same of what was changed in a copy that travels, before its work is handed in. */
export async function packWork(agent: LiveDelegation): Promise<ArtifactReference | undefined> {
  const { contract, copy, id, parent, run } = agent;
  const { copies: open, store } = run.parts;
  if (parent === null || copy === null) return undefined;
  if (bundlesIn(await eventsOf(store, id)).start === undefined) return undefined;
  const copies = await open();
  const packed = await copies.packChanges(copy, contract.step.title);
  const kept = await store.keepArtifact(packed.text);
  // From here on this copy holds nothing that is not in the store.
  copies.noteSent(copy, packed);
  return kept;
}

/** Takes what a child did elsewhere into its copy here; undefined where it did it here anyway. */
export async function receiveWork(
  { id, run }: LiveDelegation,
  copies: WorkingCopies,
  copy: WorkingCopy,
): Promise<ReceivedChanges | undefined> {
  const { store } = run.parts;
  const { changes } = bundlesIn(await eventsOf(store, id));
  if (changes === undefined) return undefined;
  return copies.receive(copy, await readBundle(store, changes));
}

/** What the log names, or nothing at all. */
export async function readBundle(store: Store, { hash }: ArtifactReference): Promise<string> {
  const text = await store.readArtifact(hash);
  if (text === undefined) {
    throw new MandateError("conflict", `The bundle ${hash} is missing from the store.`);
  }
  if (sha256(text) === hash) return text;
  throw new MandateError("conflict", `The bundle ${hash} is not the one that the log names.`);
}
