import type { Route } from "../route.ts";
import { agentRoutes } from "./agents.ts";
import { commandRoutes } from "./commands.ts";
import { delegationRoutes } from "./delegations.ts";
import { fileRoutes } from "./files.ts";
import { inboxRoutes } from "./inbox.ts";
import { keptWorkRoutes } from "./kept-work.ts";
import { memoryRoutes } from "./memory.ts";
import { profileRoutes } from "./profiles.ts";
import { recordRoutes } from "./records.ts";
import { runRoutes } from "./runs.ts";
import { sessionRoutes } from "./sessions.ts";
import { systemRoutes } from "./system.ts";
import { tokenRoutes } from "./tokens.ts";
import { trustRoutes } from "./trust.ts";
import { workerRoutes } from "./workers.ts";

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
