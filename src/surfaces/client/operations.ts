import type { openApiRoute } from "../http/openapi/openapi-route.ts";
import type { DefinedRoute } from "../http/route.ts";
import type { routes } from "../http/routes/all-routes.ts";

export type { Page } from "../http/routes/paging.ts";

type ServedRoute = (typeof routes)[number] | ReturnType<typeof openApiRoute>;

/** The input and the reply of an operation; parameters, query and body are one object. */
type OperationOf<One> =
  One extends DefinedRoute<string, infer Input, infer Reply>
    ? { readonly input: Input; readonly reply: Reply }
    : never;

/** Every operation of the HTTP API by name, with the types of the server's schemas. */
export type Operations = {
  readonly [One in ServedRoute as One["id"]]: OperationOf<One>;
};

export type OperationName = keyof Operations;

/**
 * Method and path of an operation. Input that is not in the path goes into the body or the query.
 */
export interface OperationPlace {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path below `/api/v1`. */
  readonly path: string;
  readonly takesBody: boolean;
  /** The reply is a secret, so the request has no idempotency key and is not repeated. */
  readonly isSecret?: true;
}

const get = (path: string): OperationPlace => ({ method: "GET", path, takesBody: false });
const remove = (path: string): OperationPlace => ({ method: "DELETE", path, takesBody: false });
const put = (path: string): OperationPlace => ({ method: "PUT", path, takesBody: true });
const post = (path: string): OperationPlace => ({ method: "POST", path, takesBody: true });
/** A POST without a body. */
const say = (path: string): OperationPlace => ({ method: "POST", path, takesBody: false });

const delegation = "/delegations/:delegationId";

export const operationPlaces: Readonly<Record<OperationName, OperationPlace>> = {
  listRuns: get("/runs"),
  startRun: post("/runs"),
  getRun: get("/runs/:runId"),
  getWorkflow: get("/runs/:runId/workflow"),
  skipWorkflowAgent: post("/runs/:runId/workflow/skip"),
  cancelRun: post("/runs/:runId/cancel"),
  interruptRun: post("/runs/:runId/interrupt"),
  resumeRun: post("/runs/:runId/resume"),
  getRunChanges: get("/runs/:runId/changes"),
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
  listModelRequests: get(`${delegation}/requests`),
  getModelRequest: get(`${delegation}/requests/:request`),
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
  listFolders: get("/folders"),
  consentToFolder: put("/folders"),
  forgetFolder: remove("/folders"),
  getRegistry: get("/registry"),
  putRegistry: put("/registry"),
  listPins: get("/pins"),
  putPin: put("/pins"),
  deletePin: remove("/pins"),
  listInbox: get("/inbox"),
  markInboxRead: post("/inbox/read"),
  getAsk: get("/inbox/:askId"),
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
  listLimits: get("/limits"),
  putLimit: put("/limits"),
  deleteLimit: remove("/limits"),
  listStops: get("/stops"),
  putStop: put("/stops"),
  getCosts: get("/costs"),
  getOverview: get("/overview"),
  getOpenApi: get("/openapi.json"),
};
