import type { Route } from "../route.ts";
import { agentRoutes } from "./agent-routes.ts";
import { commandRoutes } from "./command-routes.ts";
import { delegationRoutes } from "./delegation-routes.ts";
import { fileRoutes } from "./file-routes.ts";
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
