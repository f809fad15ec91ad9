/**
 * Working copies: a writing child works in its own copy of the workspace, and its changes are merged
 * into it, all or nothing. `copies/` creates, collects and removes copies, `integration/` merges,
 * `travel/` sends them to other machines. Git is run by `run-git.ts` only.
 */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { writeDurablySync } from "../../../files.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { RepositoryRefused } from "../git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import { sweepCarried } from "../integration/carried-state.ts";
import { type IntegrationRequest, integrate } from "../integration/integrate.ts";
import { IntegrationQueue, sweepPlaceLocks } from "../integration/integration-queue.ts";
import type { IntegrationResult } from "../integration/integration-result.ts";
import { recoverIntegration } from "../integration/recover-integration.ts";
import {
  contentKeyOf,
  packChanges,
  packCopy,
  type UnpackRequest,
  unpackCopy,
} from "../travel/pack-copy.ts";
import { type ReceivedChanges, receiveChanges } from "../travel/receive-changes.ts";
import { type CollectedChanges, collectChanges } from "./collect-changes.ts";
import { createWorkingCopy, type WorkingCopyRequest } from "./create-working-copy.ts";
import { diffOf, diffOfFolder, type UnifiedDiff } from "./diff-of.ts";
import { discardWorkingCopy, forgetSent, noteSent } from "./discard-working-copy.ts";
import {
  copiesOf,
  holderOf,
  isHeld,
  openWorkingCopies,
  sweepWorkingCopies,
} from "./list-working-copies.ts";
import {
  layoutOf,
  noteClaim,
  openWorkingCopy,
  readClaim,
  readCopyRecord,
  type WorkingCopy,
  workingCopyOf,
} from "./working-copy.ts";

export interface PackedChanges {
  readonly text: string;
  readonly tree: string;
}

const longestKeptPack = 8 * 1024 * 1024;

/** All working copies below one home, as the engine uses them. */
export class WorkingCopies {
  readonly #home: string;
  #line: Promise<unknown> = Promise.resolve();
  /** By id: repeats a removal that had to wait for copies made from the copy. */
  readonly #held = new Map<string, () => Promise<void>>();
  /** How often each copy was taken by this process. */
  readonly #taken = new Map<string, number>();
  /** Siblings have the same content: the pack of the last one serves the next. */
  #packed: { readonly key: string; readonly text: Promise<string> } | undefined;
  /** Creations and removals in progress. */
  readonly #busy = new Set<Promise<unknown>>();

  constructor(home: string) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // The real path, because locks are named after paths.
    this.#home = realpathSync.native(home);
  }

  /**
   * Creates a copy of exactly this place, links resolved. If the place was replaced by a link,
   * creation fails.
   */
  create(request: Omit<WorkingCopyRequest, "home">): Promise<WorkingCopy> {
    const making = this.#track(this.#make(request));
    // A failed creation no longer blocks the removal of the copy that it was made from.
    making.catch(() => this.#tryHeld());
    return making;
  }

  async #make(request: Omit<WorkingCopyRequest, "home">): Promise<WorkingCopy> {
    const copy = await createWorkingCopy({ ...request, home: this.#home });
    const { prefix, toplevel } = copy.source;
    if (join(toplevel, prefix) === resolve(request.source)) return copy;
    await discardWorkingCopy(copy, { unmerged: "delete" });
    const sentence = `The workspace "${request.source}" was replaced by a link to another folder. Put the folder back, or choose that one.`;
    throw new RepositoryRefused({ code: "changed-meanwhile", sentence });
  }

  has(id: string): boolean {
    return readCopyRecord(this.#home, id) !== undefined;
  }

  /** Takes a copy for work. It belongs to this process until the process ends or retires it. */
  take(id: string): WorkingCopy {
    const copy = openWorkingCopy(this.#home, id);
    writeFileSync(layoutOf(this.#home, id).holder, identifyThisProcess(), { mode: 0o600 });
    this.#taken.set(id, (this.#taken.get(id) ?? 0) + 1);
    return copy;
  }

  /** Packs the initial state of a copy, for creating it on another machine. */
  pack(copy: WorkingCopy): Promise<string> {
    const key = contentKeyOf(copy);
    if (this.#packed?.key === key) return this.#packed.text;
    const packed = { key, text: this.#track(packCopy(copy)) };
    const forget = (): void => {
      if (this.#packed === packed) this.#packed = undefined;
    };
    packed.text.then(({ length }) => length > longestKeptPack && forget(), forget);
    this.#packed = packed;
    return packed.text;
  }

  /** Creates a copy of another machine here, and takes it. */
  async unpack(request: Omit<UnpackRequest, "home">): Promise<WorkingCopy> {
    const unpacking = this.holding(request.id, async () => {
      // Another delegation in this process may have created the copy already.
      if (!this.has(request.id)) await unpackCopy({ ...request, home: this.#home });
    });
    await this.#track(unpacking);
    return this.take(request.id);
  }

  /**
   * Called when the copied workspace is on this machine as well, so that changes can be merged
   * here. If the workspace does not match the copy, the copy is returned unchanged and is not
   * merged.
   */
  async bringHome(copy: WorkingCopy, workspace: string): Promise<WorkingCopy> {
    const { place } = await inspectRepository(workspace, this.#home);
    const { kind, prefix, toplevel } = place;
    const record = readCopyRecord(this.#home, copy.id);
    if (record === undefined || prefix !== copy.source.prefix) return copy;
    forgetSent(copy);
    const changed = { ...record, source: { kind, toplevel, prefix } };
    writeDurablySync(layoutOf(this.#home, copy.id).record, JSON.stringify(changed));
    return workingCopyOf(this.#home, changed);
  }

  /** The claim under which work was last done in the copy here; 0: none. */
  claimOf(id: string): number {
    return readClaim(this.#home, id);
  }

  noteClaim(id: string, fence: number): void {
    noteClaim(this.#home, id, fence);
  }

  /** Packs the changes of a copy for the caller's machine. */
  async packChanges(copy: WorkingCopy, message: string): Promise<PackedChanges> {
    const changes = await this.collect(copy, message);
    return { text: await packChanges(copy, changes), tree: changes.tree };
  }

  /** Records that the packed changes are stored. */
  noteSent(copy: WorkingCopy, { tree }: PackedChanges): void {
    noteSent(copy, tree);
  }

  /**
   * Puts changes that were made on another machine into this copy, as if they had been made in it.
   */
  receive(copy: WorkingCopy, text: string): Promise<ReceivedChanges> {
    return this.#track(this.holding(copy.id, () => receiveChanges(copy, text)));
  }

  collect(copy: WorkingCopy, message: string): Promise<CollectedChanges> {
    return collectChanges(copy, { message });
  }

  diff(copy: WorkingCopy, changes: CollectedChanges): Promise<UnifiedDiff> {
    return diffOf(copy, changes);
  }

  diffOfFolder(folder: string, range: string | undefined): Promise<UnifiedDiff> {
    return this.#track(diffOfFolder({ folder, home: this.#home, range }));
  }

  integrate(request: IntegrationRequest): Promise<IntegrationResult> {
    return integrate(request);
  }

  /** Runs `work` while no other caller, in this process or another, holds this copy. */
  holding<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    return new IntegrationQueue(this.#home).run(layoutOf(this.#home, id).own, work);
  }

  /**
   * The delegation has closed: removes the copy unless it has unmerged work. `isMerged`: whatever
   * was written in it after the merge is deleted.
   */
  retire(copy: WorkingCopy, isMerged = false): void {
    this.#withdraw(copy, isMerged ? "delete" : "keep");
  }

  /** Removes the copy of a delegation that was not created. */
  remove(copy: WorkingCopy): Promise<void> {
    return this.#withdraw(copy, "delete");
  }

  /**
   * Removals run one after the other, so that copies made from a copy can be removed before it. A
   * copy that is taken before its turn, here or in another process, is kept.
   */
  #withdraw(copy: WorkingCopy, unmerged: "keep" | "delete"): Promise<void> {
    const taken = this.#taken.get(copy.id);
    const work = async () => {
      const holder = holderOf(this.#home, copy.id);
      const isOthers = holder !== identifyThisProcess() && isProcessAlive(holder);
      if (isOthers || this.#taken.get(copy.id) !== taken) return;
      await this.#withdrawNow(copy, unmerged);
    };
    const turn = this.#line.then(() => this.holding(copy.id, work));
    // If it cannot be removed now, the next `tidy` removes it.
    const withdrawn = this.#track(turn.catch(() => undefined));
    this.#line = withdrawn;
    return withdrawn;
  }

  async #withdrawNow(copy: WorkingCopy, unmerged: "keep" | "delete"): Promise<void> {
    // The work in copies made from this one can be merged only through this one.
    if (copiesOf(copy).length > 0) {
      this.#held.set(copy.id, () => this.#withdraw(copy, unmerged));
      return;
    }
    await discardWorkingCopy(copy, { unmerged }).catch(() => undefined);
    this.#tryHeld();
  }

  #tryHeld(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const again of held) void again();
  }

  /** Resolves when all creations and removals are done. */
  async settled(): Promise<void> {
    while (this.#busy.size > 0) {
      await Promise.allSettled(this.#busy);
      // A caller that waited for one of them may start another removal.
      await yieldToOthers();
    }
    sweepCarried(this.#home);
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#busy.add(work);
    const forget = () => this.#busy.delete(work);
    work.then(forget, forget);
    return work;
  }

  /**
   * Finishes what a crash left: merges, incomplete copies, copies of closed delegations. Copies
   * that a live process holds are skipped, and unmerged work is kept. `inUse`: the copies in which
   * open delegations work.
   */
  async tidy(inUse: () => Promise<ReadonlySet<string>>): Promise<void> {
    if (!existsSync(join(this.#home, "copies"))) return;
    // A merge that cannot be finished now must not block the start.
    await recoverIntegration(this.#home).catch(() => undefined);
    const used = await inUse();
    const copies = [...openWorkingCopies(this.#home)];
    // Copies made from other copies first: as long as they exist, the others stay.
    const isInner = ({ source }: WorkingCopy) => source.kind === "copy";
    copies.sort((one, other) => Number(isInner(other)) - Number(isInner(one)));
    for (const copy of copies) {
      if (!isHeld(this.#home, copy.id) && !used.has(copy.id)) this.retire(copy);
    }
    await this.settled();
    await sweepWorkingCopies(this.#home);
    sweepPlaceLocks(this.#home);
  }
}
