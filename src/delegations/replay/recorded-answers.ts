import type { Contract } from "../../contracts/contract.ts";
import type { Message, ModelReply, ModelRequest } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { Tool } from "../../tools/tool.ts";
import { incidental, plainValue } from "./comparable-events.ts";
import { type RecordedDelegation, type Recording, recordingOf } from "./recording.ts";

interface RecordedAnswer {
  /** What it was shown before. */
  readonly shown: string;
  readonly reply: ModelReply;
}

/**
 * The answers of a finished child, for one that was given the same to do: each as long as everything
 * that led to it is the same. From the first difference on there are none.
 */
export class RecordedAnswers {
  readonly #left: RecordedAnswer[];
  readonly #find: FindTool;
  #tools: number | undefined;

  constructor(recorded: RecordedDelegation, recording: Recording, find: FindTool) {
    this.#left = answersOf(recorded, namesBelow(recorded.id, parentsIn(recording)), find);
    this.#find = find;
  }

  next({ caller, messages, tools }: ModelRequest, nameOf: NameOf): ModelReply | undefined {
    this.#tools ??= tools.length;
    const answer = this.#left.shift();
    // Another attempt, or one to which the tools were taken: it did not come to that then.
    const isTheSame =
      caller.attempt === 1 &&
      tools.length === this.#tools &&
      answer?.shown === shownMessages(messages, nameOf, this.#find);
    if (isTheSame) return answer?.reply;
    this.#left.length = 0;
    return undefined;
  }
}

/** Of the attempt that succeeded. */
function answersOf(recorded: RecordedDelegation, nameOf: NameOf, find: FindTool): RecordedAnswer[] {
  const transcript = new Transcript(recorded.opening);
  let answers: RecordedAnswer[] = [];
  let shown = "";
  for (const event of recorded.events) {
    if (event.type === "agent.subagent_attempt") answers = [];
    else if (event.type === "agent.budget_reserved") {
      shown = shownMessages(transcript.messages, nameOf, find);
      const request = recorded.requests.get(event.payload.request);
      if (request?.kind === "answer") {
        answers.push({ shown, reply: { ...request.reply, takenFrom: recorded.id } });
      }
    }
    transcript.apply(event);
  }
  return answers;
}

/** A delegation and those below it, by the place of each: `0`, `0.1`. */
export function namesBelow(
  id: string,
  children: ReadonlyMap<string | null, readonly string[]>,
): NameOf {
  const names = new Map<string, string>();
  const visit = (one: string, name: string): void => {
    if (names.has(one)) return;
    names.set(one, name);
    for (const [index, child] of (children.get(one) ?? []).entries())
      visit(child, `${name}.${index}`);
  };
  visit(id, "0");
  return (each) => {
    const name = names.get(each);
    return name === undefined ? undefined : `<${name}>`;
  };
}

function parentsIn({ delegations }: Recording): ReadonlyMap<string | null, readonly string[]> {
  const byStep = [...delegations.values()].sort(
    (one, other) => one.contract.parent.step_idx - other.contract.parent.step_idx,
  );
  const children = Map.groupBy(byStep, ({ parentId }) => parentId);
  return new Map([...children].map(([id, all]) => [id, all.map((child) => child.id)]));
}

/**
 * What a child was given to do, and with what: two with the same key are asked the same question by
 * the same means. Whose children they are, their place in the run, and their limits are not in it;
 * a child that a limit had cut is no one to follow.
 */
export function contentKey(contract: Contract): string {
  const { execution, exit, model, permissions, profile, servers, step, workspace } = contract;
  return JSON.stringify([
    // The assembled prompt has what it was shown of the workspace, and whom it could delegate to.
    [profile.hash, profile.prompt, profile.capability],
    [step.description, step.context, step.success_criteria],
    model,
    permissions,
    servers,
    exit,
    execution.max_turns,
    // Which state of the folder it was: what it was shown of that is compared turn by turn.
    [workspace.isolation, workspace.allow_writes, workspace.owns],
  ]);
}

/** A finished child, for one that was given the same to do. */
export interface Predecessor {
  readonly key: string;
  answers(): RecordedAnswers;
}

/** The children that a run had finished by one of its events, in the order of their creation. */
export async function predecessorsIn(
  runId: string,
  store: Store,
  upTo: number,
  find: FindTool,
): Promise<Predecessor[]> {
  const recording = await recordingOf(runId, store);
  return [...recording.delegations.values()]
    .filter((child) => child.parentId !== null && wasFinished(child, upTo))
    .map((child) => ({
      key: contentKey(child.contract),
      answers: () => new RecordedAnswers(child, recording, find),
    }));
}

/** Well, and by itself: what a limit had cut would not have ended there. */
function wasFinished({ events }: RecordedDelegation, upTo: number): boolean {
  const end = events.find((event) => event.type === "agent.subagent_closed");
  const output = events.find((event) => event.type === "agent.subagent_waiting_for_merge");
  if (end === undefined || end.seq > upTo) return false;
  return end.payload.final_status === "completed" && output?.payload.truncated !== true;
}

/** Gives what two conversations have in common where they mean the same delegation. */
export type NameOf = (id: string) => string | undefined;

/** The tool of a name, for what its definition says of its results. */
export type FindTool = (name: string) => Pick<Tool, "describesChildren"> | undefined;

/**
 * What a model was shown, in one text: equal for two requests to which the same is an answer. Ids of
 * its own children are named after their place, and what its caller is told of a child is without
 * times, hashes and costs. Everything else counts to the letter.
 */
export function shownMessages(
  messages: readonly Message[],
  nameOf: NameOf,
  find: FindTool,
): string {
  return JSON.stringify(messages.map((message) => shown(message, nameOf, find)));
}

function shown(message: Message, nameOf: NameOf, find: FindTool): unknown {
  const rename = (text: string): string => text.replace(idLike, (id) => nameOf(id) ?? id);
  switch (message.role) {
    case "user":
      return ["user", rename(message.text)];
    case "assistant":
      return ["assistant", message.text, plainValue(message.calls, rename, nothing)];
    case "tool": {
      const { callId, isError, text, tool } = message;
      const isAboutChildren = find(tool)?.describesChildren === true;
      const said = isAboutChildren ? plainValue(text, rename, leftOut) : rename(text);
      return ["tool", callId, isError, said];
    }
    default:
      return message satisfies never;
  }
}

const idLike = /\b(?:[0-9a-f]{8}|[0-9a-f]{6})\b/g;
const leftOut: ReadonlySet<string> = new Set([...incidental, "cost"]);
const nothing: ReadonlySet<string> = new Set();
