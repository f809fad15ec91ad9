import { agentRoutes } from "./agents.ts";
import { commandRoutes } from "./commands.ts";
import { delegationRoutes } from "./delegations.ts";
import { folderRoutes } from "./folders.ts";
import { inboxRoutes } from "./inbox.ts";
import { keptWorkRoutes } from "./kept-work.ts";
import { limitRoutes } from "./limits.ts";
import { memoryRoutes } from "./memory.ts";
import { modelRequestRoutes } from "./model-requests.ts";
import { overviewRoutes } from "./overview.ts";
import { profileRoutes } from "./profiles.ts";
import { recordRoutes } from "./records.ts";
import { runRoutes } from "./runs.ts";
import { sessionRoutes } from "./sessions.ts";
import { systemRoutes } from "./system.ts";
import { tokenRoutes } from "./tokens.ts";
import { trustRoutes } from "./trust.ts";
import { workerRoutes } from "./workers.ts";
import { workflowRoutes } from "./workflows.ts";

/** All operations of the API except the streams. A new one goes into the file of its resource. */
export const routes = [
  ...runRoutes,
  ...workflowRoutes,
  ...delegationRoutes,
  ...keptWorkRoutes,
  ...modelRequestRoutes,
  ...agentRoutes,
  ...profileRoutes,
  ...trustRoutes,
  ...folderRoutes,
  ...recordRoutes,
  ...inboxRoutes,
  ...sessionRoutes,
  ...commandRoutes,
  ...memoryRoutes,
  ...tokenRoutes,
  ...overviewRoutes,
  ...systemRoutes,
  ...workerRoutes,
  ...limitRoutes,
];
