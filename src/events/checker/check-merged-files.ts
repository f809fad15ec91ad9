import { join, relative } from "node:path";
import type { Contract } from "../../contracts/contract.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import type { FileEvidence, StartedTool } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/**
 * I16: a merge changes only files that the child may write, and starts from the content that the log left
 * there. The second is checked only for merges into working copies: in a person's own folder the person,
 * an editor or another run may change files between two merges.
 */
export function checkMergedFiles({ report }: CheckedRun): RunCheck {
  /** The contents of each copy, by the folder of the copy. */
  const copies = new Map<string, ToldContents>();
  let hasCopies = false;

  function contentsAround(delegation: Known | null): ToldContents | undefined {
    const folder = copyAround(delegation);
    if (folder === null) return undefined;
    const contents = copies.get(folder) ?? new ToldContents();
    copies.set(folder, contents);
    return contents;
  }

  return {
    see(event, delegation) {
      const contract = delegation?.contract;
      if (delegation === undefined || !contract) return;
      if (event.type === "agent.subagent_created")
        hasCopies ||= contract.workspace.copy !== undefined;
      if (!hasCopies) return;
      const { id, parent } = delegation;
      const { copy, root } = contract.workspace;
      switch (event.type) {
        case "agent.tool_started":
          contentsAround(delegation)?.beginCall(callOf(event, id), event.payload.changes);
          break;
        case "agent.tool_completed": {
          const { files = [] } = event.payload;
          contentsAround(delegation)?.endCall(callOf(event, id), root ?? "", files);
          break;
        }
        case "agent.tool_failed":
        case "agent.tool_outcome_unknown":
          contentsAround(delegation)?.loseCall(callOf(event, id));
          break;
        case "agent.subagent_attempt":
          contentsAround(delegation)?.forget();
          break;
        case "agent.subagent_waiting_for_merge":
          if (copy) contentsAround(parent)?.beginMerge(id);
          break;
        case "agent.worktree_merged": {
          const { files = [] } = event.payload;
          const where = { delegationId: id, seq: event.seq };
          const outside = files.find((file) => !isWritable(delegation, contract, file));
          if (outside) report("I16", `It changes ${outside.path}, which it may not write.`, where);
          const wrong = copy && contentsAround(parent)?.endMerge(id, copy.of, files);
          if (wrong === undefined) break;
          report(
            "I16",
            `Its merge starts from another content of ${wrong} than the log left there.`,
            where,
          );
          break;
        }
        case "agent.subagent_closed":
          if (copy) contentsAround(parent)?.endMerge(id, copy.of, []);
          if (copy) copies.delete(root ?? "");
          break;
        default:
      }
    },
  };
}

/** Agents in one folder may use the same call ids. */
function callOf({ payload }: { payload: { readonly call_id: string } }, id: string): string {
  return `${id} ${payload.call_id}`;
}

/** The working copy that a delegation works in: its own, or that of an ancestor. */
function copyAround(delegation: Known | null): string | null {
  for (let one = delegation; one !== null; one = one.parent) {
    if (one.contract?.workspace.copy !== undefined) return one.contract.workspace.root;
  }
  return null;
}

/** Write roots refer to the run's own folder, not to working copies. */
function isWritable(delegation: Known, contract: Contract, { path }: FileEvidence): boolean {
  const place = join(locationOf(delegation), path);
  return contract.permissions.write_roots.some((root) => place !== root && isBelow(place, root));
}

/** The path in the run's folder to which the delegation's folder corresponds. */
function locationOf({ contract, parent }: Known): string {
  const { copy, isolation, root } = contract?.workspace ?? {};
  if (parent === null) return copy?.of ?? root ?? "";
  if (isolation !== "custom") return locationOf(parent);
  return join(locationOf(parent), relative(parent.contract?.workspace.root ?? "", root ?? ""));
}

/**
 * The known contents of one working copy. Only the delegations in the copy change it, and merges into it.
 * All their changes are in the log, until one of them calls a tool that may change any file: such a
 * command may even continue in the background.
 */
export class ToldContents {
  readonly #contents = new Map<string, string | null>();
  /** The calls that may be writing, and the children that may be merged, at this moment. */
  readonly #writers = new Map<string, { isClear: boolean }>();
  readonly #merging = new Map<string, { isClear: boolean }>();
  #isLost = false;

  beginCall(id: string, changes: StartedTool["changes"]): void {
    if (changes === "reported") this.#writers.set(id, { isClear: true });
    else if (changes !== "none") this.#isLost = true;
  }

  endCall(id: string, folder: string, files: readonly FileEvidence[]): void {
    this.#take(folder, files, isClear(id, this.#writers, this.#merging));
  }

  /** The effect of the call is unknown. */
  loseCall(id: string): void {
    isClear(id, this.#writers, this.#merging);
    this.forget();
  }

  beginMerge(child: string): void {
    this.#merging.set(child, { isClear: true });
  }

  /** Returns the first path whose content was not the known one. */
  endMerge(child: string, folder: string, files: readonly FileEvidence[]): string | undefined {
    const isCertain = isClear(child, this.#merging, this.#writers);
    const wrong = files.find(({ path, before }) => {
      const known = this.#contents.get(join(folder, path));
      return isCertain && known !== undefined && known !== before;
    });
    this.#take(folder, files, isCertain);
    return this.#isLost ? undefined : wrong?.path;
  }

  forget(): void {
    this.#contents.clear();
  }

  #take(folder: string, files: readonly FileEvidence[], isCertain: boolean): void {
    if (this.#isLost) this.forget();
    for (const { path, after } of files) {
      if (isCertain && !this.#isLost) this.#contents.set(join(folder, path), after);
      else this.#contents.delete(join(folder, path));
    }
  }
}

type Ongoing = Map<string, { isClear: boolean }>;

/**
 * Ends a write or a merge. False: others were open at the same time, and the log does not tell which of
 * them changed a file first.
 */
function isClear(id: string, same: Ongoing, others: Ongoing): boolean {
  const ended = same.get(id);
  same.delete(id);
  for (const other of others.values()) other.isClear = false;
  return others.size === 0 && ended?.isClear !== false;
}
