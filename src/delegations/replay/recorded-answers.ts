import type { ModelReply, ModelRequest } from "../../ports/model.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";
import { type FindTool, type NameOf, shownMessages } from "./shown-messages.ts";

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
