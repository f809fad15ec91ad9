import { FileFinder } from "../../../application/find-files.ts";
import type { Runtime } from "../../../runtime.ts";
import { defineRoute, type Route } from "../route.ts";
import { fileList, fileQuery } from "../shapes/file-shapes.ts";
import { workspaceOf } from "../workspace-of.ts";
import { agentRoutes } from "./agent-routes.ts";
import { commandRoutes } from "./command-routes.ts";
import { delegationRoutes } from "./delegation-routes.ts";
import { inboxRoutes } from "./inbox-routes.ts";
import { keptWorkRoutes } from "./kept-work-routes.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { profileRoutes } from "./profile-routes.ts";
import { recordRoutes } from "./record-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { systemRoutes } from "./system-routes.ts";
import { tokenRoutes } from "./token-routes.ts";
import { trustRoutes } from "./trust-routes.ts";
import { workerRoutes } from "./worker-routes.ts";

const mostFiles = 50;

const finders = new WeakMap<Runtime, FileFinder>();

function finderOf(runtime: Runtime): FileFinder {
  const finder = finders.get(runtime) ?? new FileFinder(runtime);
  finders.set(runtime, finder);
  return finder;
}

const fileRoutes: readonly Route[] = [
  defineRoute({
    id: "findFiles",
    method: "GET",
    path: "/files",
    summary: "Finds files of a folder by letters of their paths, for mentioning them in a task.",
    tag: "files",
    // What there is in a folder is for those who may have work done in it.
    role: "operator",
    query: fileQuery,
    reply: fileList,
    async handle({ query, signal }, host) {
      const workspace = await workspaceOf(host, query.workspace);
      const question = { wanted: query.q ?? "", most: mostFiles, signal };
      const { isPartial, paths } = await finderOf(host.runtime).find(workspace, question);
      return { workspace, items: paths.map((path) => ({ path })), isPartial };
    },
  }),
];

/** Every operation of the API but those that stream. A new one is a line in the file of its noun. */
export const routes: readonly Route[] = [
  ...runRoutes,
  ...delegationRoutes,
  ...keptWorkRoutes,
  ...agentRoutes,
  ...profileRoutes,
  ...trustRoutes,
  ...recordRoutes,
  ...inboxRoutes,
  ...sessionRoutes,
  ...commandRoutes,
  ...fileRoutes,
  ...memoryRoutes,
  ...tokenRoutes,
  ...systemRoutes,
  ...workerRoutes,
];
