import type { Principal } from "../control/records/principal.ts";
import type { Engine } from "../delegations/engine.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";
import type { InboxItem } from "../events/inbox-item.ts";
import type { CancelOutcome, StartedRun } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { Inbox } from "../sessions/inbox.ts";
import { listSessions, type SessionRow } from "../sessions/list-sessions.ts";
import type { SentTo } from "../sessions/send-message.ts";
import {
  isReadOnlySession,
  setSessionWorkspace,
  type WorkspaceMode,
} from "../sessions/session-records.ts";
import { KnownRuns } from "./known-runs.ts";
import type {
  Cap,
  KnownRun,
  ResumedWork,
  StartedWork,
  Steering,
  WorkflowWishes,
  WorkflowWork,
  WorkLimits,
  WorkRequest,
} from "./steering.ts";
import { requestedWorkflow, resumeAny, type WorkflowParts } from "./workflow-runs.ts";

/** The part of a runtime that steering uses. */
export interface SteeredRuntime extends Pick<EngineParts, "copies">, WorkflowParts {}

/** The place of a person, as the surface knows it. */
export interface CommandPlace {
  readonly session?: string | undefined;
  /** The workspace of new work; absent: none. */
  readonly workspace?: string | undefined;
  /** The workspace is a real path that was checked and allowed. */
  readonly isRealWorkspace?: boolean | undefined;
  /** The run that the surface shows. */
  readonly run?: string | undefined;
  /** The surface is read-only, and no command changes that. */
  readonly readOnly?: boolean | undefined;
  /** The principal of new runs; absent: the one that opened this process. */
  readonly by?: Principal | undefined;
  /**
   * Throws if the surface does not allow work in a folder. Resumed work may have begun on another
   * surface.
   */
  readonly requireFolder?: ((workspace: string | null) => Promise<void>) | undefined;
  /** Called with every run that a command started or resumed, before the reply. */
  readonly onStart?: ((run: StartedRun) => void) | undefined;
}

const mostSessions = 20;

/** Steering over the engine of this process. */
export class EngineSteering implements Steering {
  readonly #engine: Engine;
  readonly #store: Store;
  readonly #copies: EngineParts["copies"];
  readonly #runs: KnownRuns;
  readonly #inbox: Inbox;
  readonly #place: CommandPlace;
  readonly #workflows: WorkflowParts;

  constructor(runtime: SteeredRuntime, place: CommandPlace) {
    const { copies, engine, store } = runtime;
    this.#workflows = runtime;
    this.#engine = engine;
    this.#store = store;
    this.#copies = copies;
    this.#runs = new KnownRuns(store);
    this.#inbox = new Inbox(store);
    this.#place = place;
  }

  async startRun(request: WorkRequest): Promise<StartedWork> {
    const { by, isRealWorkspace, readOnly, session, workspace } = this.#place;
    const place = { by, isRealWorkspace, readOnly, session, workspace };
    await this.#place.requireFolder?.(workspace ?? null);
    // Commands come only from text that a person typed.
    return this.#started(await this.#engine.startRun({ ...request, ...place, isTyped: true }));
  }

  async startWorkflow({ args, command, name }: WorkflowWork): Promise<StartedWork> {
    const { workspace = null } = this.#place;
    const request = await requestedWorkflow(this.#workflows, { args, name }, workspace);
    return this.startRun({ ...request, command });
  }

  async resume(
    id: string,
    { workflow, ...limits }: WorkLimits & WorkflowWishes = {},
  ): Promise<ResumedWork> {
    // The engine has the runs of all principals; the store has those of this one.
    const { state } = await this.findRun(id);
    await this.#place.requireFolder?.(state?.workspace ?? null);
    const { by, readOnly, session } = this.#place;
    const resumed = await resumeAny(this.#workflows, id, {
      by,
      limits: { ...limits, readOnly, session },
      workflow,
    });
    const runs = resumed.runs.map((run) => {
      const { agents, as, from } = run;
      return { ...this.#started(run), as, from, agents };
    });
    const { agents, as, behind, delegationId, from, refused, runId } = resumed;
    const first = { runId, delegationId, as, from, agents, ...(behind && { behind }) };
    return { ...first, runs, refused };
  }

  #started(run: StartedRun): StartedWork {
    this.#place.onStart?.(run);
    const { behind, delegationId, runId } = run;
    return { runId, delegationId, ...(behind !== undefined && { behind }) };
  }

  async cancel(id: string, reason: string): Promise<CancelOutcome> {
    const isThere = (await this.#store.findRun(id)) !== undefined;
    return isThere ? this.#engine.cancel(id, reason) : "not_found";
  }

  async tell(id: string, text: string): Promise<SentTo> {
    // The engine can send to every run; the store has those that the person may see.
    await this.findRun(id);
    return this.#engine.send(id, text, "person");
  }

  async runAtWork(): Promise<string> {
    if (this.#place.run !== undefined) return this.#place.run;
    const atWork = this.#engine.liveRuns.filter(
      ({ delegations: { root }, isHeld }) => root !== null && !root.process.end.isEnding && !isHeld,
    );
    // Several branches of a distributed run may execute here.
    const all = [...new Set(atWork.map(({ id }) => id))];
    // The engine has the runs of all principals; the store has those of this one.
    const seen = await Promise.all(all.map((each) => this.#store.findRun(each)));
    const ids = seen.filter((each) => each !== undefined);
    const [id, ...others] = ids;
    if (id === undefined) {
      throw new MandateError("unknown-run", "No run is in progress here that could be watched.");
    }
    if (others.length === 0) return id;
    throw new MandateError(
      "usage",
      `Several runs are in progress here: ${ids.slice(0, 5).join(", ")}. Name one: on ${id}`,
    );
  }

  async watchers(id: string, profile: string): Promise<readonly string[]> {
    await this.#requireHere(id);
    return this.#engine.watchers.of(id, profile);
  }

  async watch(id: string, profile: string): Promise<string> {
    await this.#requireHere(id);
    return this.#engine.watchers.start(id, profile);
  }

  async unwatch(id: string, profile: string): Promise<readonly string[]> {
    await this.#requireHere(id);
    return this.#engine.watchers.end(id, profile);
  }

  /** A watcher is in the process that executes the run, since no other process sees its events. */
  async #requireHere(id: string): Promise<void> {
    const run = await this.findRun(id);
    if (this.#engine.liveRuns.some((each) => each.id === run.id)) return;
    const why =
      run.state?.outcome === null && !run.isInterrupted
        ? `Another process executes run ${run.id}: use the command there.`
        : `No process executes run ${run.id}: there is nothing to watch.`;
    throw new MandateError("unknown-run", why);
  }

  openRuns(): Promise<readonly KnownRun[]> {
    return this.#runs.open();
  }

  findRun(id: string | undefined = this.#place.run): Promise<KnownRun> {
    return id === undefined ? this.#runs.latest() : this.#runs.find(id);
  }

  capsOf(delegationIds: readonly string[]): Promise<ReadonlyMap<string, Cap>> {
    return this.#runs.capsOf(delegationIds);
  }

  sessions(): Promise<readonly SessionRow[]> {
    return listSessions(this.#store, { limit: mostSessions });
  }

  openAsks(): Promise<readonly InboxItem[]> {
    return this.#inbox.open();
  }

  unread(reader: string): Promise<readonly InboxItem[]> {
    return this.#inbox.unread({ reader });
  }

  latest(): Promise<readonly InboxItem[]> {
    return this.#inbox.read();
  }

  async markRead(upTo: number, reader: string): Promise<void> {
    await this.#inbox.markRead(upTo, reader);
  }

  answer(askId: string, text: string): Promise<void> {
    return this.#inbox.answer(askId, text);
  }

  async changes(
    range: string | undefined,
  ): Promise<{ readonly text: string; readonly truncated: boolean }> {
    const { workspace } = this.#place;
    if (workspace === undefined) {
      throw new MandateError(
        "usage",
        "There is no workspace here, so there are no changes to show.",
      );
    }
    return (await this.#copies()).diffOfFolder(workspace, range);
  }

  async workspaceMode(): Promise<WorkspaceMode> {
    const { readOnly, session } = this.#place;
    const isReadOnly =
      readOnly === true ||
      (session !== undefined && (await isReadOnlySession(this.#store, session)));
    return isReadOnly ? "readonly" : "writable";
  }

  async setWorkspaceMode(mode: WorkspaceMode, by: Principal): Promise<void> {
    const { readOnly, session } = this.#place;
    if (session === undefined) {
      throw new MandateError("usage", "There is no session here to set the workspace of.");
    }
    if (readOnly === true && mode === "writable") {
      throw new MandateError(
        "refused-by-policy",
        "This session was opened read-only, and no command changes that.",
      );
    }
    await setSessionWorkspace(this.#store, session, mode, by);
  }
}
