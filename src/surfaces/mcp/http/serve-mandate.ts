import type { Principal } from "../../../control/records/principal.ts";
import { isOpen } from "../../../events/delegation.ts";
import type { Runtime } from "../../../runtime.ts";
import type { Era } from "../client-abilities.ts";
import { type ClientSession, LocalClientSession, type SharedRuns } from "../client-session.ts";
import { createMcpServer } from "../create-mcp-server.ts";
import type { McpTool } from "../mcp-tool.ts";
import { offeredWays } from "../prompts.ts";
import { followResources } from "../resources/follow-resources.ts";
import { delegationTasks } from "../tasks/delegation-tasks.ts";
import { installTasks, type TaskServer } from "../tasks/install-tasks.ts";
import { Tasks } from "../tasks/tasks.ts";
import { mcpToolsOf } from "../tools/mcp-tools.ts";
import { createMcpHttpHandler, type McpHttpHandler } from "./mcp-http-handler.ts";
import { endedSession, type StoredSession, StoredSessions } from "./stored-sessions.ts";

export interface ServeMandateOptions {
  readonly runtime: Runtime;
  /** Real paths. Clients work in these folders or below them, whatever their roots are. */
  readonly workspaces: readonly string[];
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly idleMs?: number | undefined;
}

/** The prefix of token records in the control log, followed by the principal's id. */
const tokenRecord = "access-token/";

/** The MCP endpoint of `mandate serve`: the sessions, servers and tasks of its clients. */
export function serveMandate(options: ServeMandateOptions): McpHttpHandler {
  const { runtime, workspaces } = options;
  const stored = new StoredSessions(runtime.store, () => runtime.clock.now());
  const hasWorkers = runtime.config.engine.kind === "dbos";
  let isStopping = false;
  const tasks = new Tasks({ durable: delegationTasks(runtime), clock: runtime.clock });
  const open = new Set<ClientSession>();
  const handler = createMcpHttpHandler<ClientSession>({
    ...options,
    tasks,
    clock: runtime.clock,
    stored,
    openSession({ era, principal, name, stored: place }) {
      const session = new LocalClientSession({
        ...{ runtime, principal, client: name, allowed: workspaces, folders: workspaces },
        stored: place && sharedRunsOf(place, era),
      });
      open.add(session);
      return session;
    },
    async closeSession(session) {
      open.delete(session);
      // Workers continue what it delegated, and another server its session.
      if (isStopping && hasWorkers) session.leave();
      else await session.close();
    },
    isBusy: hasOpenDelegations,
    makeServer(session, { era, principal }) {
      const isConnected = era === "legacy";
      const server = createMcpServer({
        ...{ era, isConnected, ways: offeredWays(runtime.config) },
        session: async () => session,
      });
      if (era === "modern") addTasks(server, { runtime, tasks, owner: principal });
      return server;
    },
    watch: (principal, notify) => {
      const isOwn = (session: ClientSession) => session.principal.id === principal.id;
      const followed = {
        runtime,
        get runIds() {
          return [...open].filter(isOwn).flatMap(({ runIds }) => runIds);
        },
      };
      return followResources(followed, {
        // The stream itself filters by what its client subscribed to.
        wants: (_uri, isOfOpenSession) => isOfOpenSession,
        updated: (uri) => notify.resourceUpdated(uri),
        listChanged: () => notify.resourcesChanged(),
        offerChanged() {
          notify.toolsChanged();
          notify.promptsChanged();
        },
      });
    },
  });
  const end = async (owner: string): Promise<void> => {
    const own = [...open].filter(({ principal }) => principal.id === owner);
    const here = own.flatMap(({ sessions }) => sessions.map(({ runId }) => runId));
    const runs = new Set([...here, ...(await stored.endAll(owner))]);
    const ending = [...runs].map((id) => runtime.engine.cancel(id, { code: "token_revoked" }));
    await Promise.all([handler.forget(owner), ...ending]);
  };
  const stop = runtime.store.subscribe((events) => {
    for (const { type, payload } of events) {
      if (type !== "control.record_changed") continue;
      const ended = endedSession(payload);
      if (ended !== undefined) void handler.endStored(ended).catch(options.onError);
      if (!payload.record.startsWith(tokenRecord)) continue;
      // A revoked token is refused from now on. Its sessions and runs are cancelled as well, also
      // those that would continue after a disconnect.
      const owner = payload.record.slice(tokenRecord.length);
      void end(owner).catch(options.onError);
    }
  });
  return {
    ...handler,
    async close() {
      isStopping = true;
      stop();
      await handler.close();
    },
  };
}

function sharedRunsOf(place: StoredSession, era: Era): SharedRuns {
  return {
    get runs() {
      return place.state?.runs ?? [];
    },
    async add(runId) {
      // Without a handshake, a session is stored with its first run.
      if (era === "modern") await place.begin(null);
      await place.addRun(runId);
    },
  };
}

function addTasks(
  server: TaskServer,
  { runtime, tasks, owner }: { runtime: Runtime; tasks: Tasks; owner: Principal },
): void {
  let tools: readonly McpTool[] | undefined;
  const find = (name: string) => {
    tools ??= mcpToolsOf(runtime);
    return tools.find((tool) => tool.name === name);
  };
  installTasks(server, {
    tasks,
    owner,
    isLong: (name) => find(name)?.isLong === true,
    delegates: (name) => find(name)?.delegates === true,
  });
}

/** Whether a delegation of the client is open. */
async function hasOpenDelegations({ runtime, sessions }: ClientSession): Promise<boolean> {
  for (const { runId } of sessions) {
    const run = await runtime.store.readRun(runId);
    for (const delegation of run?.delegations.values() ?? []) {
      if (delegation.parentId !== null && isOpen(delegation)) return true;
    }
  }
  return false;
}
