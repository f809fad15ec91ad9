import { join, relative } from "node:path";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { Carried } from "../../contracts/exposure.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { intersectRoots, isBelow } from "../../contracts/write-roots.ts";
import type { StartWay } from "../../control/records/resolve-profile.ts";
import type { NewEvent } from "../../events/event.ts";
import type { DelegationRequest } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Message } from "../../ports/model.ts";
import {
  bindWorkspace,
  type Ownership,
  type WorkspaceBinding,
} from "../../workspaces/bind-workspace.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { isWritable, resolveInside } from "../../workspaces/resolve-inside.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import type { PlannedChild } from "../turns/plans.ts";

type Isolation = WorkspaceBinding["isolation"];

/** Where a delegation works. Contracts name write roots in the run's own folder, wherever that is. */
export interface Placement {
  readonly binding: WorkspaceBinding;
  readonly copy: WorkingCopy | null;
  /** The write roots as the contract names them. A copy that has travelled is not at that place. */
  readonly writeRoots: readonly string[];
  readonly root: string;
  /** The original folder that the copy was made of. */
  readonly of: string | null;
}

/** A child that can write has a copy of its own unless its profile says otherwise. */
export function chooseIsolation(start: Start, profile: Profile, granted: Granted): Isolation {
  if (start.copy !== undefined) return "sandbox";
  const { approval, checks, isolation } = profile.workspace ?? {};
  // An agent program writes wherever its sandbox lets it, which is a copy at any depth.
  if (profile.runner !== undefined && canWrite(start.run.parts, granted)) {
    if (isolation !== "custom") return "sandbox";
    throw new MandateError(
      "refused-by-policy",
      `"${profile.name}" is a program that works in a copy of the whole workspace, and its profile lets it see only a part. Remove the isolation, or the runner.`,
    );
  }
  if (isReviewed(start) && canWrite(start.run.parts, granted)) {
    if (isolation !== "custom") return "sandbox";
    // A copy has all of the workspace, and an agent with a folder of its own may see only a part.
    throw new MandateError(
      "refused-by-policy",
      `"${profile.name}" works in place in a part of the workspace, and agents work in a copy of this folder. Use another profile, or allow work in place.`,
    );
  }
  const { keepsCopy, owns } = start.request;
  if (keepsCopy === true && canWrite(start.run.parts, granted)) return "sandbox";
  // Changes that are reviewed or checked are made apart.
  const isGated = approval === true || (checks?.length ?? 0) > 0 || (owns?.length ?? 0) > 0;
  if (isolation !== undefined && !(isGated && isolation !== "sandbox")) return isolation;
  if (isGated) return "sandbox";
  if (start.caller === null || !canWrite(start.run.parts, granted)) return "shared";
  return "sandbox";
}

/**
 * Whether a person approves its changes because they would reach the run's own folder: those of the
 * first agent on each way down that could write there.
 */
export function isReviewed({ caller, run, way }: Start): boolean {
  if (!run.settings.isReviewed || way === "session" || way === "watch") return false;
  return caller === null || caller.copy === null;
}

function canWrite({ toolbox }: EngineParts, { mayUse }: Granted): boolean {
  if (mayUse.write_roots.length === 0) return false;
  return (mayUse.tools as readonly string[]).some((name) => {
    const effect = toolbox.get(name)?.effect;
    return effect === "write" || effect === "exec";
  });
}

/**
 * Why the files that a contract grants to write cannot be written: a read-only folder fails before
 * the first model request, rather than after a model passed over it. Undefined: nothing is wrong.
 */
export function obstacleToWriting(
  { caller, run, way }: Start,
  granted: Granted,
): string | undefined {
  const { tools, write_roots: roots } = granted.mayUse;
  // The files of a copy are its own, and a watcher or another program's agent writes nothing here.
  if (way === "watch" || way === "session" || (caller !== null && caller.copy !== null)) {
    return undefined;
  }
  const writer = (tools as readonly string[]).find(
    (name) => run.parts.toolbox.get(name)?.effect === "write",
  );
  if (writer === undefined || roots.length === 0 || roots.some(isWritable)) return undefined;
  return `The folder ${roots.join(", ")} is not writable, and the contract grants ${writer} there. Make the folder writable, or start the run read-only (--read-only) for work that only reads.`;
}

/** The folder that a delegation's caller works in, and which part of the run's folder that is. */
interface Surroundings {
  readonly root: string;
  readonly at: string;
  /** The folder's name in its contract: on another machine, that is where it was made. */
  readonly named: string;
}

export function surroundingsOf({ caller, run }: Pick<Start, "caller" | "run">): Surroundings {
  const named = caller === null ? run.settings.workspace : caller.contract.workspace.root;
  if (named === null) throw new MandateError("usage", "This run has no workspace.");
  const root = caller?.workspace?.root ?? named;
  return { root, named, at: caller === null ? named : locationOf(caller) };
}

/** The part of the run's folder that a delegation's root is, or is a copy of. */
function locationOf({ contract, parent, run }: LiveDelegation): string {
  const { isolation, root } = contract.workspace;
  const start = run.settings.workspace ?? "";
  const around = parent === null ? start : locationOf(parent);
  if (isolation !== "custom") return around;
  const above = parent?.contract.workspace.root ?? start;
  return join(around, relative(above, root ?? above));
}

export function place(
  start: Pick<Start, "caller" | "request" | "run">,
  isolation: Isolation,
  granted: readonly string[],
  { copy, folder }: { readonly copy: WorkingCopy | null; readonly folder?: string | undefined },
): Placement {
  const { caller, request, run } = start;
  const { at, named, root } = surroundingsOf(start);
  const owns = request.owns ?? none;
  if (copy !== null) {
    const bound = bind(run, caller, { isolation, root: copy.root, at, copy, owns }, granted);
    const { prefix, toplevel } = copy.source;
    const of = prefix === "" ? toplevel : join(toplevel, prefix);
    return { copy, ...bound, root: bound.binding.root, of: of === root ? named : of };
  }
  const own = isolation === "custom" ? customFolder(run, root, folder) : root;
  const part = relative(root, own);
  const bound = bind(
    run,
    caller,
    { isolation, root: own, at: join(at, part), copy, owns },
    granted,
  );
  const name = named === root ? bound.binding.root : join(named, part);
  return { copy, ...bound, root: name, of: null };
}

/** The placement of a stored contract, when its delegation is recovered. */
export function placeAgain(
  run: LiveRun,
  caller: LiveDelegation | null,
  { permissions, workspace }: LiveDelegation["contract"],
  copy: WorkingCopy | null,
): WorkspaceBinding | null {
  const { isolation, owns, root: name } = workspace;
  if (name === null) return null;
  const { at: around, named, root: above } = surroundingsOf({ caller, run });
  const at = isolation === "custom" ? join(around, relative(named, name)) : around;
  // The folder on this machine, whatever its name is on the machine that it was agreed on.
  const root = copy?.root ?? (named === above ? name : join(above, relative(named, name)));
  return bind(run, caller, { isolation, root, at, copy, owns }, permissions.write_roots).binding;
}

const none: readonly string[] = Object.freeze([]);

interface Where extends Pick<Surroundings, "root" | "at"> {
  readonly isolation: Isolation;
  readonly copy: WorkingCopy | null;
  readonly owns: readonly string[];
}

function bind(
  { parts }: LiveRun,
  caller: LiveDelegation | null,
  { at, copy, isolation, owns, root }: Where,
  granted: readonly string[],
): Pick<Placement, "binding" | "writeRoots"> {
  const isInPlace = root === at;
  const roots = isInPlace ? granted : intersectRoots(granted, [at]);
  const moved = (path: string): string =>
    isBelow(path, at) ? join(root, relative(at, path)) : path;
  const binding = bindWorkspace({
    root,
    isolation,
    allowWrites: roots.length > 0,
    writeRoots: isInPlace ? roots : roots.map(moved),
    forbidden: parts.forbidden,
    // What the next start obeys is guarded in a copy as well: it would come back with a merge.
    guarded: isInPlace ? parts.guarded : parts.guarded.map(moved),
    workingCopies: parts.worktrees,
    visible: objectsFor(caller, copy),
    owned: ownedBy(owns, caller, at),
  });
  // Contracts name real places. A link that was put in the place of one leads to another.
  if (isInPlace && binding.root !== root) throw movedWorkspace(root);
  return { binding, writeRoots: isInPlace ? binding.writeRoots : roots };
}

/** What its own contract and those of its callers let it change; each list binds by itself. */
function ownedBy(
  own: readonly string[],
  caller: LiveDelegation | null,
  location: string,
): readonly Ownership[] {
  const owned: Ownership[] = own.length > 0 ? [{ patterns: own, below: "" }] : [];
  for (let above = caller; above !== null; above = above.parent) {
    const { owns } = above.contract.workspace;
    if (owns.length > 0) {
      owned.push({ patterns: owns, below: relative(locationOf(above), location) });
    }
  }
  return owned;
}

/**
 * The folders of objects that git reads in a copy. Where the workspace is a part of a repository, its
 * `.git` is outside and cannot be used: the objects would only tell of what is not its own.
 */
function objectsFor(caller: LiveDelegation | null, copy: WorkingCopy | null): readonly string[] {
  if (copy !== null) return copy.source.prefix === "" ? copy.objects : none;
  return caller === null ? none : objectsFor(caller.parent, caller.copy);
}

export function movedWorkspace(folder: string): MandateError {
  return new MandateError(
    "refused-by-policy",
    `The workspace "${folder}" is not the folder that was agreed on any more: it leads elsewhere. Start again with the folder that you mean.`,
  );
}

function customFolder({ parts }: LiveRun, root: string, folder: string | undefined): string {
  if (folder === undefined) {
    const sentence = `A workspace that is isolated as custom needs "folder": which part of the workspace it is.`;
    throw new MandateError("refused-by-policy", sentence);
  }
  const around = bindWorkspace({
    root,
    isolation: "shared",
    allowWrites: false,
    forbidden: parts.forbidden,
    workingCopies: parts.worktrees,
  });
  return resolveInside(around, folder).path;
}

export interface Start {
  readonly run: LiveRun;
  /** Null: a person, or an agent of another program. */
  readonly caller: LiveDelegation | null;
  readonly request: DelegationRequest;
  readonly way: StartWay;
  /** For a watcher: the delegation whose session it watches. Its caller is a person. */
  readonly watches?: LiveDelegation;
  /** The program whose agent holds a session. */
  readonly client?: string;
  /** The models that it may ask through Mandate; absent: none. */
  readonly models?: readonly string[];
  readonly callId: string | null;
  /** Asked for when making it takes time: aborts when its result is no longer wanted. */
  readonly signal?: () => AbortSignal;
  /** The place of the child in its plan, or in the run. */
  readonly step: number;
  /** The child that a plan asks for. */
  readonly planned?: PlannedChild | undefined;
  /** The delegation answers a person: the exit rule of its profile is for delegated work. */
  readonly isConversation?: boolean;
  /** The working copy of the delegation that is resumed, or a new one in its place. */
  readonly copy?: WorkingCopy | "new" | undefined;
  /** Written in the same transaction, before the child exists. */
  readonly before?: readonly NewEvent[];
  /** The prompt of the delegation that is resumed, in place of a new one. */
  readonly system?: string | undefined;
  /** The call that makes it was given results of children that had read untrusted input. */
  readonly isTold?: true;
  /** What the delegation that is resumed had come to hold. */
  readonly carries?: readonly Carried[] | undefined;
  /** The addresses that a resumed sub-agent had from its caller, in place of its task's. */
  readonly addresses?: readonly string[] | undefined;
  /** The conversation that a resumed delegation continues. */
  readonly opening?: readonly Message[] | undefined;
}
