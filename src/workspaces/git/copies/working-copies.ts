import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { writeDurablySync } from "../../../files.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { RepositoryRefused } from "../git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import { type IntegrationRequest, integrate } from "../integration/integrate.ts";
import { IntegrationQueue, sweepPlaceLocks } from "../integration/integration-queue.ts";
import type { IntegrationResult } from "../integration/integration-result.ts";
import { recoverIntegration } from "../integration/recover-integration.ts";
import { packChanges, packCopy, type UnpackRequest, unpackCopy } from "../travel/pack-copy.ts";
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

/** All working copies below one home, as the engine uses them. */
export class WorkingCopies {
  readonly #home: string;
  #line: Promise<unknown> = Promise.resolve();
  /** What is to go once nothing that was made of it is left. */
  readonly #held = new Map<string, () => Promise<void>>();
  /** How often each was taken up here. */
  readonly #taken = new Map<string, number>();
  /** What is being made or removed. */
  readonly #busy = new Set<Promise<unknown>>();

  constructor(home: string) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // One spelling of it: locks are named after places.
    this.#home = realpathSync.native(home);
  }

  /** Of exactly this place, links resolved: what somebody has put a link to since is another one. */
  create(request: Omit<WorkingCopyRequest, "home">): Promise<WorkingCopy> {
    const making = this.#track(this.#make(request));
    // What comes to nothing no longer holds the one that it was to be made of.
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

  /** For work in it: until this process ends or has retired it, it is this process's. */
  take(id: string): WorkingCopy {
    const copy = openWorkingCopy(this.#home, id);
    writeFileSync(layoutOf(this.#home, id).holder, identifyThisProcess(), { mode: 0o600 });
    this.#taken.set(id, (this.#taken.get(id) ?? 0) + 1);
    return copy;
  }

  /** The state that a copy was made with, for those who have to make it once more. */
  pack(copy: WorkingCopy): Promise<string> {
    return this.#track(packCopy(copy));
  }

  /** Makes a copy of another machine once more, and takes it. */
  async unpack(request: Omit<UnpackRequest, "home">): Promise<WorkingCopy> {
    const unpacking = this.holding(request.id, async () => {
      // Somebody else here may have been quicker.
      if (!this.has(request.id)) await unpackCopy({ ...request, home: this.#home });
    });
    await this.#track(unpacking);
    return this.take(request.id);
  }

  /**
   * The workspace that it is a copy of is on this machine as well: what is made in it can be merged
   * here. Where it is none that could be copied so, the copy stays a stranger, and is not merged.
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

  /** Under which claim somebody last worked in it here; 0: nobody has. */
  claimOf(id: string): number {
    return readClaim(this.#home, id);
  }

  noteClaim(id: string, fence: number): void {
    noteClaim(this.#home, id, fence);
  }

  /** What was changed in it, for the machine that its caller is on. */
  async packChanges(copy: WorkingCopy, message: string): Promise<PackedChanges> {
    const changes = await this.collect(copy, message);
    return { text: await packChanges(copy, changes), tree: changes.tree };
  }

  /** The store has what was changed in it. */
  noteSent(copy: WorkingCopy, { tree }: PackedChanges): void {
    noteSent(copy, tree);
  }

  /** Puts what was done elsewhere into this copy, as if it had been done in it. */
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

  /** Nobody else takes hold of this copy meanwhile, in this process or in another. */
  holding<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    return new IntegrationQueue(this.#home).run(layoutOf(this.#home, id).own, work);
  }

  /**
   * Its delegation has ended: it goes, unless it holds work that was not merged. `isMerged`: what
   * was written in it after the merge came too late, and is nobody's.
   */
  retire(copy: WorkingCopy, isMerged = false): void {
    this.#withdraw(copy, isMerged ? "delete" : "keep");
  }

  /** The delegation it was made for came to nothing. */
  remove(copy: WorkingCopy): Promise<void> {
    return this.#withdraw(copy, "delete");
  }

  /**
   * One after the other, so that those that were made of a copy can go before it. Who takes it up
   * before its turn comes, here or in another process, keeps it.
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
    // What cannot be removed now is found by the next `tidy`.
    const withdrawn = this.#track(turn.catch(() => undefined));
    this.#line = withdrawn;
    return withdrawn;
  }

  async #withdrawNow(copy: WorkingCopy, unmerged: "keep" | "delete"): Promise<void> {
    // The work of those that were made of it could find its way back through this one only.
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

  /** What was being made is there, what was to be removed is gone. */
  async settled(): Promise<void> {
    while (this.#busy.size > 0) {
      await Promise.allSettled(this.#busy);
      // Whoever waited for one of them may have it removed again.
      await yieldToOthers();
    }
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#busy.add(work);
    const forget = () => this.#busy.delete(work);
    work.then(forget, forget);
    return work;
  }

  /**
   * Brings to an end what a crash left: merges, copies half made, copies whose delegation is closed.
   * What a living process holds is its own, and work that was not merged stays, whoever's it was.
   * `inUse`: the copies that open delegations work in.
   */
  async tidy(inUse: () => Promise<ReadonlySet<string>>): Promise<void> {
    if (!existsSync(join(this.#home, "copies"))) return;
    // A folder that cannot be brought to an end now must not keep everything else from starting.
    await recoverIntegration(this.#home).catch(() => undefined);
    const used = await inUse();
    const copies = [...openWorkingCopies(this.#home)];
    // Those that were made of others first: as long as they are there, the others stay as well.
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
