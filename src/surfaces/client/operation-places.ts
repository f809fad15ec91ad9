import type { OperationName } from "./operations.ts";

/** Where an operation is. What of its input is not in the path goes into the body or the query. */
export interface OperationPlace {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v1`. */
  readonly path: string;
  readonly takesBody: boolean;
  /** The reply must not be kept by anybody, so it is not asked for under a key, nor twice. */
  readonly isSecret?: true;
}

const get = (path: string): OperationPlace => ({ method: "GET", path, takesBody: false });
const remove = (path: string): OperationPlace => ({ method: "DELETE", path, takesBody: false });
const put = (path: string): OperationPlace => ({ method: "PUT", path, takesBody: true });
const post = (path: string): OperationPlace => ({ method: "POST", path, takesBody: true });
/** What there is to say is in the path. */
const say = (path: string): OperationPlace => ({ method: "POST", path, takesBody: false });

const delegation = "/delegations/:delegationId";

export const operationPlaces: Readonly<Record<OperationName, OperationPlace>> = {
  listRuns: get("/runs"),
  startRun: post("/runs"),
  getRun: get("/runs/:runId"),
  cancelRun: post("/runs/:runId/cancel"),
  resumeRun: post("/runs/:runId/resume"),
  forkRun: post("/runs/:runId/fork"),
  listRunEvents: get("/runs/:runId/events"),
  verifyRun: get("/runs/:runId/verification"),
  compareRuns: get("/runs/:runId/comparison"),
  replayRun: say("/runs/:runId/replay"),
  listDelegations: get("/delegations"),
  getDelegation: get(delegation),
  cancelDelegation: post(`${delegation}/cancel`),
  resumeDelegation: post(`${delegation}/resume`),
  answerDelegation: post(`${delegation}/answer`),
  listMessages: get(`${delegation}/messages`),
  sendMessage: post(`${delegation}/messages`),
  listDelegationEvents: get(`${delegation}/events`),
  getDelegationResult: get(`${delegation}/result`),
  readArtifact: get(`${delegation}/artifacts/:hash`),
  diffDelegation: get(`${delegation}/diff`),
  mergeDelegation: post(`${delegation}/merge`),
  discardDelegation: post(`${delegation}/discard`),
  listAgents: get("/agents"),
  getAgent: get("/agents/:agentId"),
  registerAgent: put("/agents/:agentId"),
  unregisterAgent: remove("/agents/:agentId"),
  listProfiles: get("/profiles"),
  getProfile: get("/profiles/:profile"),
  getWaiting: get("/waiting/:hash"),
  trustWaiting: say("/waiting/:hash/trust"),
  listTrusted: get("/trusted"),
  withdrawTrust: remove("/trusted/:hash"),
  getRegistry: get("/registry"),
  putRegistry: put("/registry"),
  listPins: get("/pins"),
  putPin: put("/pins"),
  deletePin: remove("/pins"),
  listInbox: get("/inbox"),
  markInboxRead: post("/inbox/read"),
  answerAsk: post("/inbox/:askId/answer"),
  listSessions: get("/sessions"),
  getSession: get("/sessions/:sessionId"),
  renameSession: put("/sessions/:sessionId/title"),
  exportSession: get("/sessions/:sessionId/export"),
  continueSession: post("/sessions/:sessionId/messages"),
  executeCommand: post("/commands"),
  completeCommand: get("/commands/completion"),
  listHotkeys: get("/hotkeys"),
  findFiles: get("/files"),
  listMemories: get("/memory"),
  getMemory: get("/memory/:memoryId"),
  promoteMemory: say("/memory/:memoryId/promote"),
  forgetMemory: say("/memory/:memoryId/forget"),
  listTokens: get("/tokens"),
  createToken: { ...post("/tokens"), isSecret: true },
  revokeToken: remove("/tokens/:name"),
  getMe: get("/me"),
  getHealth: get("/health"),
  getSystem: get("/system"),
  listWorkers: get("/workers"),
  listQueues: get("/queues"),
  getCosts: get("/costs"),
  getOpenApi: get("/openapi.json"),
};
