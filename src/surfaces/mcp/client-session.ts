import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { seenBy } from "../../control/access/store-seen-by.ts";
import { holdsRole, type Principal } from "../../control/records/principal.ts";
import type { Session } from "../../delegations/session.ts";
import { isOpen } from "../../events/delegation.ts";
import { realFolder } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime } from "../../runtime.ts";
import { OpenCalls } from "./calls/open-calls.ts";
import { foldersOfRoots, isInside, narrowFolders } from "./client-folders.ts";

/**
 * The state of one MCP client: its principal, its folders, and the runs that hold its delegations.
 * A run is opened with the first call that needs one, so a client that only lists tools leaves
 * nothing behind.
 */
export interface ClientSession {
  /** The runtime's store has only the runs that the principal may see. */
  readonly runtime: Runtime;
  readonly principal: Principal;
  /** The client's own name; untrusted. */
  readonly client: string;
  /** The folders it may work in: never more than its roots and the server's folders. */
  workspaces(): Promise<readonly string[]>;
  /** Sets the client's roots. Open runs keep their folder. */
  takeRoots(uris: readonly string[]): Promise<void>;
  /** When the roots were read, in milliseconds; 0: not yet, or they have changed since. */
  rootsReadAt: number;
  /** Opens a run in a folder, or returns the open one; default: the first folder. */
  open(workspace?: string): Promise<Session>;
  /** The session that was opened last; undefined: nothing was delegated yet. */
  readonly opened: Session | undefined;
  /** All open sessions, one for each folder. */
  readonly sessions: readonly Session[];
  /** The runs that other servers opened for this client's session. */
  readonly runsElsewhere: readonly string[];
  /** The open runs of the client, here and at other servers. */
  readonly runIds: readonly string[];
  /** The session whose run a delegation belongs to. */
  holding(delegationId: string): Promise<Session | undefined>;
  /** The client can show questions to its user, until the session is closed. */
  attend(): void;
  /** Open calls, also those that wait for a reply of the client. */
  readonly calls: OpenCalls;
  close(): Promise<void>;
  /** The client may continue at another server: its runs stay open, and their delegations continue. */
  leave(): void;
}

export interface ClientSessionOptions {
  readonly runtime: Runtime;
  readonly principal: Principal;
  readonly client: string;
  /** Real paths that limit the roots; absent: only the client's roots count. */
  readonly allowed?: readonly string[] | undefined;
  /** The folders of a client without roots, as real paths; default: the first one. */
  readonly folders: readonly string[];
  readonly readOnly?: boolean | undefined;
  /** Where its runs are stored for other servers; absent: it ends with this process. */
  readonly stored?: SharedRuns | undefined;
}

/** The runs of one client's session, over all servers of a database. */
export interface SharedRuns {
  /** As they were read with the client's latest request. */
  readonly runs: readonly string[];
  add(runId: string): Promise<void>;
}

export class LocalClientSession implements ClientSession {
  readonly runtime: Runtime;
  readonly principal: Principal;
  readonly client: string;
  readonly calls: OpenCalls;
  rootsReadAt = 0;
  opened: Session | undefined;
  readonly #options: ClientSessionOptions;
  /** Undefined: the client has no roots. */
  #roots: readonly string[] | undefined;
  readonly #sessions = new Map<string, Promise<Session>>();
  #all: readonly Session[] = [];
  /** The runs that this process opened, also those that are over. */
  readonly #opened = new Set<string>();
  #isClosed = false;
  #leave: (() => void) | undefined;

  constructor(options: ClientSessionOptions) {
    this.#options = options;
    this.runtime = seenBy(options.runtime, options.principal);
    this.principal = options.principal;
    this.client = options.client;
    const { clock, store } = this.runtime;
    this.calls = new OpenCalls(store, () => this.runIds, clock);
  }

  get sessions(): readonly Session[] {
    return this.#all;
  }

  get runsElsewhere(): readonly string[] {
    const runs = this.#options.stored?.runs ?? [];
    return runs.filter((id) => !this.#opened.has(id));
  }

  get runIds(): readonly string[] {
    return [...this.#all.map(({ runId }) => runId), ...this.runsElsewhere];
  }

  async workspaces(): Promise<readonly string[]> {
    const { allowed, folders } = this.#options;
    return this.#roots === undefined ? folders : narrowFolders(this.#roots, allowed);
  }

  async takeRoots(uris: readonly string[]): Promise<void> {
    this.#roots = await foldersOfRoots(uris);
    this.rootsReadAt = this.runtime.clock.now();
  }

  async open(workspace?: string): Promise<Session> {
    const folder = await this.#folder(workspace);
    const key = folder ?? "";
    const known = this.#sessions.get(key);
    if (known !== undefined) {
      const session = await known;
      const isFull = await this.#isFull(session);
      if (!isFull && !(await this.#isOver(session))) {
        this.opened = session;
        return session;
      }
      // The run was cancelled or is full: new delegations go to a new run.
      if (this.#sessions.get(key) === known) {
        this.#sessions.delete(key);
        if (isFull) void session.close().catch(() => undefined);
      }
      this.#all = this.#all.filter((one) => one !== session);
    }
    const opening = this.#sessions.get(key) ?? this.#openIn(folder);
    this.#sessions.set(key, opening);
    opening.catch(() => this.#sessions.delete(key));
    this.opened = await opening;
    return this.opened;
  }

  async holding(delegationId: string): Promise<Session | undefined> {
    if (this.#all.length <= 1) return this.opened;
    const runId = await this.runtime.store.findRun(delegationId);
    return this.#all.find((session) => session.runId === runId) ?? this.opened;
  }

  attend(): void {
    if (!this.#isClosed) this.#leave ??= this.runtime.attend();
  }

  leave(): void {
    this.#isClosed = true;
    this.#leave?.();
    this.calls.close();
  }

  async close(): Promise<void> {
    this.leave();
    await Promise.allSettled(this.#sessions.values());
    await Promise.allSettled(this.#all.map((session) => session.close()));
  }

  async #openIn(workspace: string | null): Promise<Session> {
    if (this.#isClosed) throw new MandateError("closed", "The client's session has ended.");
    if (!holdsRole("operator", this.principal)) {
      throw new MandateError(
        "refused-by-policy",
        "This needs an operator: a viewer cannot delegate.",
      );
    }
    const session = await this.runtime.engine.openSession({
      client: this.client,
      workspace,
      isRealWorkspace: true,
      by: this.principal,
      readOnly: this.#options.readOnly,
      outlivesProcess: this.#options.stored !== undefined,
    });
    this.#opened.add(session.runId);
    this.#all = [...this.#all, session];
    await this.#options.stored?.add(session.runId);
    return session;
  }

  async #isOver({ delegationId, runId }: Session): Promise<boolean> {
    const run = await this.runtime.store.readRun(runId);
    const root = run?.delegations.get(delegationId);
    // The run was interrupted while this process was taken for dead.
    const isInterrupted = root?.status === "running" && root.interruption !== null;
    return isInterrupted || root?.status === "closed";
  }

  /**
   * The run has the maximum of delegations, and all of them are closed. A client can stay connected
   * for weeks, so it gets a new run then.
   */
  async #isFull({ runId }: Session): Promise<boolean> {
    const { limits, store } = this.runtime;
    const run = await store.readRun(runId);
    if (run === undefined || run.delegations.size < limits.maxChildren) return false;
    return [...run.delegations.values()].every((one) => one.parentId === null || !isOpen(one));
  }

  async #folder(named: string | undefined): Promise<string | null> {
    const folders = await this.workspaces();
    if (named === undefined) return folders[0] ?? null;
    const path = pathOf(named, folders[0]);
    const real = path === undefined ? undefined : await realFolder(path);
    if (real !== undefined && folders.some((root) => isInside(root, real))) return real;
    const known = folders.length === 0 ? "It has none." : `They are: ${folders.join(", ")}.`;
    throw new MandateError(
      "refused-by-policy",
      `The folder ${JSON.stringify(named.slice(0, 200))} is not in the client's folders. ${known}`,
    );
  }
}

function pathOf(named: string, first: string | undefined): string | undefined {
  try {
    if (/^file:\/\//i.test(named)) return fileURLToPath(named);
  } catch {
    return undefined;
  }
  if (isAbsolute(named)) return named;
  return first === undefined ? undefined : resolve(first, named);
}
