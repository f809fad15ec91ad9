import type { z } from "zod";
import type { InboxKind } from "../../events/inbox-item.ts";
import type { agentList, agentRow, registerAgentBody } from "../http/routes/agents.ts";
import type {
  commandBody,
  commandReply,
  completion,
  completionQuery,
  hotkeyList,
} from "../http/routes/commands.ts";
import type { delegationDetail } from "../http/routes/delegation-detail.ts";
import type { textPiece } from "../http/routes/delegations.ts";
import type { delegationResult, delegationRow } from "../http/routes/describe-delegation.ts";
import type { runDetail, runRow } from "../http/routes/describe-run.ts";
import type { eventRow } from "../http/routes/event-page.ts";
import type { fileList, fileQuery } from "../http/routes/files.ts";
import type { askDetail, inboxPage, markReadBody, markReadReply } from "../http/routes/inbox.ts";
import type {
  delegationDiff,
  discardBody,
  discardReply,
  mergeBody,
  mergeReply,
  runChanges,
} from "../http/routes/kept-work.ts";
import type {
  limitList,
  putLimitBody,
  putStopBody,
  stopChange,
  stopList,
  storedLimit,
} from "../http/routes/limits.ts";
import type { memoryDecision, memoryRow } from "../http/routes/memory.ts";
import type { modelRequestDetail, modelRequestRow } from "../http/routes/model-requests.ts";
import type { overview } from "../http/routes/overview.ts";
import type { profileDetail, profileList } from "../http/routes/profiles.ts";
import type {
  deletePinQuery,
  pinList,
  pinRow,
  putPinBody,
  putRegistryBody,
  registryRecord,
} from "../http/routes/records.ts";
import type {
  comparison,
  forkBody,
  forkedRun,
  replayedRun,
  verification,
  workflowDetail,
} from "../http/routes/runs.ts";
import type {
  continueBody,
  exportedSession,
  messageEntry,
  renameBody,
  renameReply,
  sessionDetail,
  sessionFormat,
  sessionRow,
} from "../http/routes/sessions.ts";
import type { startedRun, startRunBody } from "../http/routes/start-run.ts";
import type {
  answerReply,
  cancelBody,
  cancelReply,
  interruptBody,
  interruptReply,
  resumeBody,
  resumedRun,
  sendBody,
  sendReply,
} from "../http/routes/steer-work.ts";
import type { costGroup, costReport, health, me, system } from "../http/routes/system.ts";
import type { createdToken, createTokenBody, tokenList } from "../http/routes/tokens.ts";
import type { trustedList, waitingDetail, waitingRow } from "../http/routes/trust.ts";
import type { queueList, workerList } from "../http/routes/workers.ts";

/** The input and the reply of an operation; parameters, query and body are one object. */
interface Operation<Input, Reply> {
  readonly input: Input;
  readonly reply: Reply;
}

type Of<Schema extends z.ZodType> = z.infer<Schema>;

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null on the last page; pass it as `cursor` for the next page. */
  readonly nextCursor: string | null;
}

interface PageInput {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface RunInput {
  readonly runId: string;
}

interface DelegationInput {
  readonly delegationId: string;
}

interface SessionInput {
  /** The id of a delegation, or the id of a run for its root. */
  readonly sessionId: string;
}

interface Place {
  readonly session?: string | undefined;
  readonly workspace?: string | undefined;
}

type EventPage = Page<Of<typeof eventRow>>;
type EventInput = PageInput & { readonly after?: number | undefined };
type Nothing = Readonly<Record<never, never>>;

/** Every operation of the HTTP API by name, with the types of the server's schemas. */
export interface Operations {
  listRuns: Operation<
    PageInput & {
      readonly open?: boolean | undefined;
      readonly outcome?: "succeeded" | "failed" | "cancelled" | undefined;
      readonly application?: string | undefined;
      readonly profile?: string | undefined;
      readonly model?: string | undefined;
      readonly startedBy?: string | undefined;
      readonly workspace?: string | undefined;
    },
    Page<Of<typeof runRow>>
  >;
  startRun: Operation<Of<typeof startRunBody>, Of<typeof startedRun>>;
  getWorkflow: Operation<RunInput, Of<typeof workflowDetail>>;
  getRun: Operation<RunInput & { readonly wait?: number | undefined }, Of<typeof runDetail>>;
  cancelRun: Operation<RunInput & Of<typeof cancelBody>, Of<typeof cancelReply>>;
  interruptRun: Operation<RunInput & Of<typeof interruptBody>, Of<typeof interruptReply>>;
  resumeRun: Operation<RunInput & Of<typeof resumeBody>, Of<typeof resumedRun>>;
  getRunChanges: Operation<RunInput, Of<typeof runChanges>>;
  forkRun: Operation<RunInput & Of<typeof forkBody>, Of<typeof forkedRun>>;
  listRunEvents: Operation<RunInput & EventInput, EventPage>;
  verifyRun: Operation<RunInput, Of<typeof verification>>;
  compareRuns: Operation<RunInput & { readonly with: string }, Of<typeof comparison>>;
  replayRun: Operation<RunInput, Of<typeof replayedRun>>;

  listDelegations: Operation<
    PageInput & {
      readonly runId?: string | undefined;
      readonly open?: boolean | undefined;
      readonly profile?: string | undefined;
    },
    Page<Of<typeof delegationRow>>
  >;
  getDelegation: Operation<DelegationInput, Of<typeof delegationDetail>>;
  cancelDelegation: Operation<DelegationInput & Of<typeof cancelBody>, Of<typeof cancelReply>>;
  resumeDelegation: Operation<DelegationInput & Of<typeof resumeBody>, Of<typeof resumedRun>>;
  answerDelegation: Operation<
    DelegationInput & { readonly askId?: string | undefined; readonly text: string },
    Of<typeof answerReply>
  >;
  listMessages: Operation<DelegationInput & PageInput, Page<Of<typeof messageEntry>>>;
  sendMessage: Operation<DelegationInput & Of<typeof sendBody>, Of<typeof sendReply>>;
  listDelegationEvents: Operation<DelegationInput & EventInput, EventPage>;
  getDelegationResult: Operation<DelegationInput, Of<typeof delegationResult>>;
  readArtifact: Operation<
    DelegationInput & {
      readonly hash: string;
      readonly from?: number | undefined;
      readonly lines?: number | undefined;
      readonly search?: string | undefined;
    },
    Of<typeof textPiece>
  >;
  listModelRequests: Operation<DelegationInput & PageInput, Page<Of<typeof modelRequestRow>>>;
  getModelRequest: Operation<
    DelegationInput & { readonly request: number },
    Of<typeof modelRequestDetail>
  >;
  diffDelegation: Operation<DelegationInput, Of<typeof delegationDiff>>;
  mergeDelegation: Operation<DelegationInput & Of<typeof mergeBody>, Of<typeof mergeReply>>;
  discardDelegation: Operation<DelegationInput & Of<typeof discardBody>, Of<typeof discardReply>>;

  listAgents: Operation<Nothing, Of<typeof agentList>>;
  getAgent: Operation<{ readonly agentId: string }, Of<typeof agentRow>>;
  registerAgent: Operation<
    { readonly agentId: string } & Of<typeof registerAgentBody>,
    Of<typeof agentRow>
  >;
  unregisterAgent: Operation<{ readonly agentId: string }, null>;
  listProfiles: Operation<Nothing, Of<typeof profileList>>;
  getProfile: Operation<{ readonly profile: string }, Of<typeof profileDetail>>;
  getWaiting: Operation<{ readonly hash: string }, Of<typeof waitingDetail>>;
  trustWaiting: Operation<{ readonly hash: string }, Of<typeof waitingRow>>;
  listTrusted: Operation<Nothing, Of<typeof trustedList>>;
  withdrawTrust: Operation<{ readonly hash: string }, null>;

  getRegistry: Operation<Nothing, Of<typeof registryRecord>>;
  putRegistry: Operation<Of<typeof putRegistryBody>, Of<typeof registryRecord>>;
  listPins: Operation<Place, Of<typeof pinList>>;
  putPin: Operation<Of<typeof putPinBody>, Of<typeof pinRow>>;
  deletePin: Operation<Of<typeof deletePinQuery>, null>;

  listInbox: Operation<
    PageInput & {
      readonly kinds?: readonly InboxKind[] | undefined;
      readonly openOnly?: boolean | undefined;
      readonly runId?: string | undefined;
    },
    Of<typeof inboxPage>
  >;
  markInboxRead: Operation<Of<typeof markReadBody>, Of<typeof markReadReply>>;
  getAsk: Operation<{ readonly askId: string }, Of<typeof askDetail>>;
  answerAsk: Operation<{ readonly askId: string; readonly text: string }, Of<typeof answerReply>>;

  listSessions: Operation<
    PageInput & { readonly workspace?: string | undefined },
    Page<Of<typeof sessionRow>>
  >;
  getSession: Operation<SessionInput, Of<typeof sessionDetail>>;
  renameSession: Operation<SessionInput & Of<typeof renameBody>, Of<typeof renameReply>>;
  exportSession: Operation<
    SessionInput & { readonly format?: Of<typeof sessionFormat> | undefined },
    Of<typeof exportedSession>
  >;
  continueSession: Operation<SessionInput & Of<typeof continueBody>, Of<typeof startedRun>>;

  executeCommand: Operation<Of<typeof commandBody>, Of<typeof commandReply>>;
  completeCommand: Operation<Of<typeof completionQuery>, Of<typeof completion>>;
  listHotkeys: Operation<Nothing, Of<typeof hotkeyList>>;
  findFiles: Operation<Of<typeof fileQuery>, Of<typeof fileList>>;

  listMemories: Operation<
    PageInput & {
      readonly text?: string | undefined;
      readonly tag?: string | undefined;
      readonly all?: boolean | undefined;
    },
    Page<Of<typeof memoryRow>>
  >;
  getMemory: Operation<{ readonly memoryId: string }, Of<typeof memoryRow>>;
  promoteMemory: Operation<{ readonly memoryId: string }, Of<typeof memoryDecision>>;
  forgetMemory: Operation<{ readonly memoryId: string }, Of<typeof memoryDecision>>;

  listTokens: Operation<Nothing, Of<typeof tokenList>>;
  createToken: Operation<Of<typeof createTokenBody>, Of<typeof createdToken>>;
  revokeToken: Operation<{ readonly name: string }, null>;

  getMe: Operation<Nothing, Of<typeof me>>;
  getHealth: Operation<Nothing, Of<typeof health>>;
  getSystem: Operation<Nothing, Of<typeof system>>;
  listWorkers: Operation<Nothing, Of<typeof workerList>>;
  listQueues: Operation<Nothing, Of<typeof queueList>>;
  listLimits: Operation<Nothing, Of<typeof limitList>>;
  putLimit: Operation<Of<typeof putLimitBody>, Of<typeof storedLimit>>;
  deleteLimit: Operation<{ readonly scope: string; readonly version: number }, null>;
  listStops: Operation<Nothing, Of<typeof stopList>>;
  putStop: Operation<Of<typeof putStopBody>, Of<typeof stopChange>>;
  getCosts: Operation<
    {
      readonly by?: Of<typeof costGroup> | undefined;
      readonly since?: number | undefined;
      readonly limit?: number | undefined;
      readonly daily?: boolean | undefined;
    },
    Of<typeof costReport>
  >;
  getOverview: Operation<Nothing, Of<typeof overview>>;
  getOpenApi: Operation<Nothing, Readonly<Record<string, unknown>>>;
}

export type OperationName = keyof Operations;

/**
 * Method and path of an operation. Input that is not in the path goes into the body or the query.
 */
export interface OperationPlace {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v1`. */
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
