import type { Contract } from "../../contracts/contract.ts";
import type { Message, ModelReply, ModelRequest } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { Tool } from "../../tools/tool.ts";
import { incidental, plainValue } from "./comparable-events.ts";
import { type RecordedDelegation, type Recording, recordingOf } from "./recording.ts";

interface RecordedAnswer {
  /** The conversation before it, as `shownMessages` writes it. */
  readonly shown: string;
  readonly reply: ModelReply;
}

/**
 * The answers of a finished child, in order, for a child with the same key. Each is given only while
 * the conversation before it is the same; after the first difference there are no more.
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
    // The recorded child had one attempt, and kept its tools.
    const isTheSame =
      caller.attempt === 1 &&
      tools.length === this.#tools &&
      answer?.shown === shownMessages(messages, nameOf, this.#find);
    if (isTheSame) return answer?.reply;
    this.#left.length = 0;
    return undefined;
  }
}

/** The answers of the attempt that succeeded. */
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

/** Names a delegation and its descendants by their position: `0`, `0.1`. */
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
 * The task of a child and its means: two children with the same key were asked the same thing. Their
 * caller, their place in the run and their limits are not part of the key.
 */
export function contentKey(contract: Contract): string {
  const { execution, exit, model, permissions, profile, servers, step, workspace } = contract;
  return JSON.stringify([
    // The assembled prompt lists parts of the workspace, and the profiles to delegate to.
    [profile.hash, profile.prompt, profile.capability],
    [step.description, step.context, step.success_criteria],
    model,
    permissions,
    servers,
    exit,
    execution.max_turns,
    // The folder's content is not compared here: what the child saw of it is, turn by turn.
    [workspace.isolation, workspace.allow_writes, workspace.owns],
  ]);
}

/** A finished child, whose answers a child with the same key can use. */
export interface Predecessor {
  readonly key: string;
  answers(): RecordedAnswers;
}

/** The children of a run that had completed by the event `upTo`, in the order of their creation. */
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

/** Completed, and not cut short by a limit: without that limit the child would have continued. */
function wasFinished({ events }: RecordedDelegation, upTo: number): boolean {
  const end = events.find((event) => event.type === "agent.subagent_closed");
  const output = events.find((event) => event.type === "agent.subagent_waiting_for_merge");
  if (end === undefined || end.seq > upTo) return false;
  return end.payload.final_status === "completed" && output?.payload.truncated !== true;
}

/** The name of a delegation that is the same in two runs; undefined: no delegation of that id. */
export type NameOf = (id: string) => string | undefined;

/** Finds the definition of a tool, which says whether its results describe children. */
export type FindTool = (name: string) => Pick<Tool, "describesChildren"> | undefined;

/**
 * The messages of a request as one text, to compare two requests. Ids of children are replaced by
 * their position, and results that describe children lose times, hashes and costs. Everything else
 * must be equal to the letter.
 */
function shownMessages(messages: readonly Message[], nameOf: NameOf, find: FindTool): string {
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
