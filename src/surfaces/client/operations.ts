import type { z } from "zod";
import type { InboxKind } from "../../events/inbox-item.ts";
import type * as agents from "../http/shapes/agent-shapes.ts";
import type * as commands from "../http/shapes/command-shapes.ts";
import type * as delegations from "../http/shapes/delegation-shapes.ts";
import type * as events from "../http/shapes/event-shapes.ts";
import type * as files from "../http/shapes/file-shapes.ts";
import type * as inbox from "../http/shapes/inbox-shapes.ts";
import type * as work from "../http/shapes/kept-work-shapes.ts";
import type * as memories from "../http/shapes/memory-shapes.ts";
import type * as profiles from "../http/shapes/profile-shapes.ts";
import type * as records from "../http/shapes/record-shapes.ts";
import type * as results from "../http/shapes/result-shapes.ts";
import type * as runs from "../http/shapes/run-shapes.ts";
import type * as sessions from "../http/shapes/session-shapes.ts";
import type * as system from "../http/shapes/system-shapes.ts";
import type * as tokens from "../http/shapes/token-shapes.ts";
import type * as trust from "../http/shapes/trust-shapes.ts";
import type * as workers from "../http/shapes/worker-shapes.ts";

/** What goes in and what comes out; parameters, query and body are one object. */
interface Operation<Input, Reply> {
  readonly input: Input;
  readonly reply: Reply;
}

type Of<Schema extends z.ZodType> = z.infer<Schema>;

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null on the last page; give it as `cursor` for the next one. */
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
  /** Of a delegation, or of a run for its root. */
  readonly sessionId: string;
}

interface Place {
  readonly session?: string | undefined;
  readonly workspace?: string | undefined;
}

type EventPage = Page<Of<typeof events.eventRow>>;
type EventInput = PageInput & { readonly after?: number | undefined };
type Nothing = Readonly<Record<never, never>>;

/** Every operation of the HTTP API under its name, with the types that its server holds it to. */
export interface Operations {
  listRuns: Operation<
    PageInput & {
      readonly open?: boolean | undefined;
      readonly outcome?: "succeeded" | "failed" | "cancelled" | undefined;
      readonly application?: string | undefined;
    },
    Page<Of<typeof runs.runRow>>
  >;
  startRun: Operation<Of<typeof runs.startRunBody>, Of<typeof runs.startedRun>>;
  getRun: Operation<RunInput & { readonly wait?: number | undefined }, Of<typeof runs.runDetail>>;
  cancelRun: Operation<
    RunInput & Of<typeof delegations.cancelBody>,
    Of<typeof delegations.cancelReply>
  >;
  resumeRun: Operation<RunInput & Of<typeof runs.resumeBody>, Of<typeof runs.resumedRun>>;
  forkRun: Operation<RunInput & Of<typeof runs.forkBody>, Of<typeof runs.forkedRun>>;
  listRunEvents: Operation<RunInput & EventInput, EventPage>;
  verifyRun: Operation<RunInput, Of<typeof runs.verification>>;
  compareRuns: Operation<RunInput & { readonly with: string }, Of<typeof runs.comparison>>;
  replayRun: Operation<RunInput, Of<typeof runs.replayedRun>>;

  listDelegations: Operation<
    PageInput & {
      readonly runId?: string | undefined;
      readonly open?: boolean | undefined;
      readonly profile?: string | undefined;
    },
    Page<Of<typeof delegations.delegationRow>>
  >;
  getDelegation: Operation<DelegationInput, Of<typeof delegations.delegationDetail>>;
  cancelDelegation: Operation<
    DelegationInput & Of<typeof delegations.cancelBody>,
    Of<typeof delegations.cancelReply>
  >;
  resumeDelegation: Operation<
    DelegationInput & Of<typeof runs.resumeBody>,
    Of<typeof runs.resumedRun>
  >;
  answerDelegation: Operation<
    DelegationInput & { readonly askId?: string | undefined; readonly text: string },
    Of<typeof delegations.answerReply>
  >;
  listMessages: Operation<DelegationInput & PageInput, Page<Of<typeof sessions.messageEntry>>>;
  sendMessage: Operation<
    DelegationInput & Of<typeof delegations.sendBody>,
    Of<typeof delegations.sendReply>
  >;
  listDelegationEvents: Operation<DelegationInput & EventInput, EventPage>;
  getDelegationResult: Operation<DelegationInput, Of<typeof results.delegationResult>>;
  readArtifact: Operation<
    DelegationInput & {
      readonly hash: string;
      readonly from?: number | undefined;
      readonly lines?: number | undefined;
      readonly search?: string | undefined;
    },
    Of<typeof delegations.textPiece>
  >;
  diffDelegation: Operation<DelegationInput, Of<typeof work.delegationDiff>>;
  mergeDelegation: Operation<
    DelegationInput & Of<typeof work.mergeBody>,
    Of<typeof work.mergeReply>
  >;
  discardDelegation: Operation<
    DelegationInput & Of<typeof work.discardBody>,
    Of<typeof work.discardReply>
  >;

  listAgents: Operation<Nothing, Of<typeof agents.agentList>>;
  getAgent: Operation<{ readonly agentId: string }, Of<typeof agents.agentRow>>;
  registerAgent: Operation<
    { readonly agentId: string } & Of<typeof agents.registerAgentBody>,
    Of<typeof agents.agentRow>
  >;
  unregisterAgent: Operation<{ readonly agentId: string }, null>;
  listProfiles: Operation<Nothing, Of<typeof profiles.profileList>>;
  getProfile: Operation<{ readonly profile: string }, Of<typeof profiles.profileDetail>>;
  getWaiting: Operation<{ readonly hash: string }, Of<typeof trust.waitingDetail>>;
  trustWaiting: Operation<{ readonly hash: string }, Of<typeof trust.waitingRow>>;
  listTrusted: Operation<Nothing, Of<typeof trust.trustedList>>;
  withdrawTrust: Operation<{ readonly hash: string }, null>;

  getRegistry: Operation<Nothing, Of<typeof records.registryRecord>>;
  putRegistry: Operation<Of<typeof records.putRegistryBody>, Of<typeof records.registryRecord>>;
  listPins: Operation<Place, Of<typeof records.pinList>>;
  putPin: Operation<Of<typeof records.putPinBody>, Of<typeof records.pinRow>>;
  deletePin: Operation<Of<typeof records.deletePinQuery>, null>;

  listInbox: Operation<
    PageInput & {
      readonly kinds?: readonly InboxKind[] | undefined;
      readonly openOnly?: boolean | undefined;
      readonly runId?: string | undefined;
    },
    Of<typeof inbox.inboxPage>
  >;
  markInboxRead: Operation<Of<typeof inbox.markReadBody>, Of<typeof inbox.markReadReply>>;
  answerAsk: Operation<
    { readonly askId: string; readonly text: string },
    Of<typeof delegations.answerReply>
  >;

  listSessions: Operation<
    PageInput & { readonly workspace?: string | undefined },
    Page<Of<typeof sessions.sessionRow>>
  >;
  getSession: Operation<SessionInput, Of<typeof sessions.sessionDetail>>;
  renameSession: Operation<
    SessionInput & Of<typeof sessions.renameBody>,
    Of<typeof sessions.renameReply>
  >;
  exportSession: Operation<
    SessionInput & { readonly format?: Of<typeof sessions.sessionFormat> | undefined },
    Of<typeof sessions.exportedSession>
  >;
  continueSession: Operation<
    SessionInput & Of<typeof runs.continueBody>,
    Of<typeof runs.startedRun>
  >;

  executeCommand: Operation<Of<typeof commands.commandBody>, Of<typeof commands.commandReply>>;
  completeCommand: Operation<Of<typeof commands.completionQuery>, Of<typeof commands.completion>>;
  listHotkeys: Operation<Nothing, Of<typeof commands.hotkeyList>>;
  findFiles: Operation<Of<typeof files.fileQuery>, Of<typeof files.fileList>>;

  listMemories: Operation<
    PageInput & {
      readonly text?: string | undefined;
      readonly tag?: string | undefined;
      readonly all?: boolean | undefined;
    },
    Page<Of<typeof memories.memoryRow>>
  >;
  getMemory: Operation<{ readonly memoryId: string }, Of<typeof memories.memoryRow>>;
  promoteMemory: Operation<{ readonly memoryId: string }, Of<typeof memories.memoryDecision>>;
  forgetMemory: Operation<{ readonly memoryId: string }, Of<typeof memories.memoryDecision>>;

  listTokens: Operation<Nothing, Of<typeof tokens.tokenList>>;
  createToken: Operation<Of<typeof tokens.createTokenBody>, Of<typeof tokens.createdToken>>;
  revokeToken: Operation<{ readonly name: string }, null>;

  getMe: Operation<Nothing, Of<typeof system.me>>;
  getHealth: Operation<Nothing, Of<typeof system.health>>;
  getSystem: Operation<Nothing, Of<typeof system.system>>;
  listWorkers: Operation<Nothing, Of<typeof workers.workerList>>;
  listQueues: Operation<Nothing, Of<typeof workers.queueList>>;
  getCosts: Operation<
    {
      readonly by?: Of<typeof system.costGroup> | undefined;
      readonly since?: number | undefined;
      readonly limit?: number | undefined;
    },
    Of<typeof system.costReport>
  >;
  getOpenApi: Operation<Nothing, Readonly<Record<string, unknown>>>;
}

export type OperationName = keyof Operations;
