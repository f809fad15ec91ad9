import { type AgentRunner, isMetered, runnerName } from "../../contracts/agent-runner.ts";
import type { ProgramReport } from "../../events/program-payloads.ts";
import type { Message, ToolDescription } from "../../ports/model.ts";
import { headOf } from "../../text.ts";
import type { NativeAct, ToolResult } from "../../tools/tool.ts";
import {
  type AgentProgram,
  type ProgramAtWork,
  ProgramFault,
  type ProgramHost,
} from "../agent-programs.ts";
import { findTool } from "../delegation-process.ts";
import { unfinished } from "../ends/closing-events.ts";
import { type Ending, failure, retryable } from "../ends/ending.ts";
import { event, type LiveDelegation, openRequestsOf } from "../live-delegation.ts";
import { ProgramRequests } from "../program-requests.ts";
import { performCall } from "./perform-calls.ts";
import { hasServers, offeredTools, openServers } from "./prompt.ts";
import { bestSoFar } from "./take-turn.ts";

/** How long a program may take to end after its budget refused a request. */
const graceMs = 5000;

// A program must not fill the disk with what it says.
const longestText = 200_000;
const longestDetail = 4000;
const mostReports = 5000;

/**
 * One turn of an agent program: it gets what is new in the conversation, works by itself and answers. Null:
 * the answer is in the transcript, and is judged like an answer of our own loop.
 */
export async function takeProgramTurn(
  live: LiveDelegation,
  runner: AgentRunner,
): Promise<Ending | null> {
  try {
    const atWork = await programOf(live, runner);
    live.work.throwIfStopped();
    const prompt = promptFor(live, atWork);
    const { answered: before } = atWork.requests;
    const { stop, text } = await live.work.interruptible(answerInTime(live, atWork, prompt));
    // A call that it does not wait for is made all the same: its result belongs to this turn.
    if (atWork.requests.exhaustedBy === null) await live.work.interruptible(atWork.host.settled());
    await untilAnswered(live);
    const { answered, exhaustedBy, refusedBy } = atWork.requests;
    if (exhaustedBy !== null) return bestSoFar(live, exhaustedBy);
    // No model has answered: what the program says is why.
    if (refusedBy !== null && answered === before) return failure(refusedBy);
    live.record(event(live, "agent.program_answered", { stop, text: headOf(text, longestText) }));
    await live.process.appends.durable();
    return null;
  } catch (error) {
    if (!(error instanceof ProgramFault)) throw error;
    return endedBy(live, runnerName(runner), error);
  }
}

/**
 * Programs end their turn while requests of theirs are under way. Answered soon, these cost what the
 * provider reports; cut, they count as their worst case.
 */
async function untilAnswered(live: LiveDelegation): Promise<void> {
  const { time } = live.process;
  for (let waits = 0; waits < mostWaits && openRequestsOf(live).length > 0; waits++) {
    await live.work.interruptible(time.untilReleased());
  }
}

/** Each takes a second at most. */
const mostWaits = 3;

async function endedBy(
  live: LiveDelegation,
  program: string,
  fault: ProgramFault,
): Promise<Ending> {
  const { exhaustedBy = null, refusedBy = null } = live.process.program?.requests ?? {};
  live.process.program = null;
  await live.run.parts.programs?.release(live.id);
  if (exhaustedBy !== null) return bestSoFar(live, exhaustedBy);
  // A retry would send the same request.
  if (refusedBy !== null) return failure(refusedBy);
  const { exit, isPassing, message: text } = fault;
  if (exit !== undefined) {
    return retryable({ code: "program_failed", program, exit, ...(text !== "" && { text }) });
  }
  const cause = { code: "program_unusable", program, text } as const;
  return isPassing ? retryable(cause) : failure(cause);
}

/** The program of this attempt. A new attempt begins with a new program. */
async function programOf(live: LiveDelegation, runner: AgentRunner): Promise<ProgramAtWork> {
  const { process, run } = live;
  const { programs } = run.parts;
  if (process.program?.attempt === live.state.attempt) return process.program;
  if (programs === undefined) throw new ProgramFault("This process starts no agent programs.");
  if (process.program !== null) await programs.release(live.id);
  process.program = null;
  // Calls of a process that has died: the program that made them does not wait for them.
  live.record(...unfinished(live));
  if (process.tools.ofServers === null && hasServers(live)) await openServers(live);
  process.holdsProcesses = true;
  const requests = new ProgramRequests(live);
  const host = new Host(live, runner, requests);
  // If the delegation is stopped now, the release of its processes ends this one too.
  const program = await live.work.interruptible(programs.open(host));
  const atWork = { attempt: live.state.attempt, program, requests, host, heard: null };
  process.program = atWork;
  live.record(
    event(live, "agent.program_started", {
      runner: runnerName(runner),
      program: headOf(program.name, 200),
      session: program.session,
      ...(!isMetered(runner) && { login: "own" as const }),
      ...(program.isResumed && { resumed: true as const }),
    }),
  );
  // A process that recovers the delegation loads this session.
  await process.appends.durable();
  return atWork;
}

/** A program that continues after its budget refused a request is asked to end, and then killed. */
async function answerInTime(
  live: LiveDelegation,
  { program, requests }: ProgramAtWork,
  prompt: string,
): ReturnType<AgentProgram["prompt"]> {
  const { clock, programs } = live.run.parts;
  const timers: { cancel(): void }[] = [];
  const forget = requests.onExhausted(() => {
    timers.push(
      clock.after(graceMs / 2, () => program.cancel()),
      clock.after(graceMs, () => void programs?.release(live.id)),
    );
  });
  try {
    return await program.prompt(prompt);
  } finally {
    forget();
    for (const timer of timers) timer.cancel();
  }
}

/** What the conversation has that the session of the program does not have. */
function promptFor(live: LiveDelegation, atWork: ProgramAtWork): string {
  const { messages } = live.said.transcript;
  const { heard } = atWork;
  atWork.heard = messages.length;
  // What it said itself its session has already; remarks may stand between.
  if (heard !== null) {
    return textOf(messages.slice(heard).filter(({ role }) => role !== "assistant"));
  }
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const news = textOf(messages.slice(last + 1));
  if (atWork.program.isResumed) return joined(interruption, news);
  const before = last < 0 ? "" : `${earlier}\n\n${textOf(messages.slice(0, last + 1))}`;
  return joined(live.system, before, news === "" ? interruption : news);
}

const interruption =
  "You were interrupted here, and continue now. What you did until then is in the folder; the outcome of a call that was under way is unknown. Look before you repeat anything.";

const earlier = "This conversation has begun in an earlier session, which ended. It was, in order:";

function textOf(messages: readonly Message[]): string {
  const parts = messages.map((message) =>
    message.role === "assistant" ? `[you] ${message.text}` : message.text,
  );
  return joined(...parts);
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The delegation, as its program sees it. */
class Host implements ProgramHost {
  readonly runner: AgentRunner;
  readonly requests: ProgramRequests;
  readonly session: string | null;
  readonly #live: LiveDelegation;
  readonly #attempt: number;
  #calls: number;
  #reports = 0;
  #waiting = 0;
  /** Names of our tools that were called, by calls that the program has not reported yet. */
  readonly #unreported: string[] = [];
  readonly #open = new Set<Promise<unknown>>();

  constructor(live: LiveDelegation, runner: AgentRunner, requests: ProgramRequests) {
    this.#live = live;
    this.#attempt = live.state.attempt;
    this.#calls = live.said.callsMade;
    this.runner = runner;
    this.requests = requests;
    this.session = live.said.session;
  }

  get delegationId(): string {
    return this.#live.id;
  }

  get contract(): ProgramHost["contract"] {
    return this.#live.contract;
  }

  get workspace(): ProgramHost["workspace"] {
    return this.#live.workspace;
  }

  get tools(): readonly ToolDescription[] {
    const live = this.#live;
    const isOurs = ({ name }: ToolDescription) => findTool(live, name)?.native === undefined;
    return offeredTools(live).descriptions.filter(isOurs);
  }

  call(name: string, input: unknown): Promise<ToolResult> {
    return this.#follow(this.#call(name, input));
  }

  async #follow(calling: Promise<ToolResult>): Promise<ToolResult> {
    this.#open.add(calling);
    try {
      return await calling;
    } finally {
      this.#open.delete(calling);
    }
  }

  /** Resolves when no call is under way. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #call(name: string, input: unknown, signal?: AbortSignal): Promise<ToolResult> {
    const live = this.#live;
    live.work.throwIfStopped();
    const call = { id: `call_${++this.#calls}`, name: headOf(name, 200), input };
    live.record(
      event(live, "agent.program_called", {
        ...{ call_id: call.id, tool: call.name, input: recordable(input) },
      }),
    );
    this.#unreported.push(call.name);
    const calling = performCall(live, { call, started: false }, { signal, withdrawn: false });
    const result = await this.#withoutSlot(calling, findTool(live, call.name)?.waits === true);
    await live.process.appends.durable();
    return result;
  }

  async callNative(what: NativeAct, input: unknown, signal?: AbortSignal): Promise<ToolResult> {
    const { allowed_tools: granted } = this.contract.permissions;
    const name = granted.find((one) => findTool(this.#live, one)?.native === what);
    if (name !== undefined) return this.#follow(this.#call(name, input, signal));
    return { text: `The contract grants no tool for that (${what}).`, isError: true };
  }

  alive(): void {
    this.#live.process.lastActivity = this.#live.run.parts.clock.monotonic();
  }

  said(part: string): void {
    this.alive();
    this.#live.run.parts.onDelta?.(this.#live.id, part);
  }

  report(report: ProgramReport): void {
    this.alive();
    const live = this.#live;
    const isOver = live.process.end.isEnding || live.work.interruption !== null;
    if (isOver || live.state.attempt !== this.#attempt || ++this.#reports > mostReports) return;
    // After a refusal programs repeat it in their own words, which are no result.
    if (report.what === "text" && this.requests.exhaustedBy !== null) return;
    if (report.what === "call" && this.#isRecorded(report)) return;
    live.record(event(live, "agent.program_reported", shortened(report)));
  }

  /** Programs report calls of our tools as well, under names that they make of the server and the tool. */
  #isRecorded({ outcome, title }: Extract<ProgramReport, { what: "call" }>): boolean {
    if (!title.includes("mandate")) return false;
    if (outcome === "begun") return this.tools.some(({ name }) => title.includes(name));
    const found = this.#unreported.findIndex((tool) => title.includes(tool));
    // A call that the program itself refused has not arrived here.
    if (found < 0) return false;
    this.#unreported.splice(found, 1);
    return true;
  }

  /** While every open call only waits for children, others may have the slot. */
  async #withoutSlot<Value>(calling: Promise<Value>, waits: boolean): Promise<Value> {
    if (!waits) return calling;
    const { time } = this.#live.process;
    if (++this.#waiting === 1) time.giveSlot();
    try {
      return await calling;
    } finally {
      const isLast = --this.#waiting === 0;
      const back = isLast && this.#live.work.interruption === null ? time.takeSlot() : undefined;
      if (back) await this.#live.work.interruptible(back);
    }
  }
}

function recordable(input: unknown): unknown {
  const text = JSON.stringify(input) ?? "";
  return text.length > longestText ? headOf(text, longestText) : input;
}

function shortened(report: ProgramReport): ProgramReport {
  if (report.what === "text") return { ...report, text: headOf(report.text, longestText) };
  if (report.what === "plan") {
    const entries = report.entries.slice(0, 100).map(({ status, text }) => {
      return { text: headOf(text, 500), status: headOf(status, 40) };
    });
    return { ...report, entries };
  }
  const { input, output } = report;
  return {
    ...report,
    call_id: headOf(report.call_id, 200),
    title: headOf(report.title, 500),
    kind: headOf(report.kind, 40),
    ...(input !== undefined && { input: headOf(input, longestDetail) }),
    ...(output !== undefined && { output: headOf(output, longestDetail) }),
  };
}
