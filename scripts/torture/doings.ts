import type { ScriptedReply } from "../../src/models/scripted/playbook.ts";
import type { Message, ModelRequest } from "../../src/ports/model.ts";

export type Role =
  | "reader"
  | "writer"
  | "planner"
  | "digger"
  | "stumbler"
  | "counter"
  | "asker"
  | "bookkeeper"
  | "runner";

type Doing = (request: ModelRequest, rounds: number) => ScriptedReply;

const call = (tool: string, input: unknown): ScriptedReply => ({ calls: [{ tool, input }] });

/**
 * What each child does, decided from the request alone. Whatever is in a final text must be the same
 * in every run, however often it was killed: no ids, no times, nothing that a second writing changes.
 */
export const doings: Readonly<Record<Role, Doing>> = {
  reader: (request, rounds) =>
    turns(request, [
      () => call("list_files", { path: "docs" }),
      ...reading(rounds * 2),
      // Side by side, and one of them too large for the log.
      () => ({
        calls: [
          { tool: "read_file", input: { path: "docs/north.md" } },
          { tool: "read_file", input: { path: "docs/large.md" } },
        ],
      }),
      () => ({ text: `Read: ${results(request).at(-2)} ${results(request).at(-1)?.slice(-100)}` }),
    ]),
  writer: (request, rounds) => {
    const path = `out/${request.caller.task.replace(" ", "-")}.md`;
    const versions = Array.from({ length: rounds + 1 }, (_, index) => index + 1);
    return turns(request, [
      ...versions.flatMap((version) => [
        () => call("write_file", { path, content: `Version ${version}\n` }),
        () => call("read_file", { path }),
      ]),
      () => ({ text: `Wrote: ${results(request).at(-1)}` }),
    ]);
  },
  planner: (request, rounds) =>
    turns(request, [
      ...reading(rounds),
      () => call("delegate_task", { profile: "digger", task: `digger of ${request.caller.task}` }),
      ...reading(rounds),
      () => ({ text: `Planned. ${delegated(request).join(" ")}` }),
    ]),
  digger: (request, rounds) =>
    turns(request, [
      () => call("list_files", { path: "docs", recursive: true }),
      ...reading(rounds),
      () => ({ text: `Dug: ${results(request)[0]}` }),
    ]),
  // Its first attempt fails for good at its second turn, its second one only for a moment.
  stumbler: (request, rounds) =>
    turns(request, [
      () => call("read_file", { path: "docs/north.md" }),
      () => (request.caller.attempt === 1 ? { fault: "overloaded" } : onceCut(request)),
      ...reading(rounds),
      () => ({ text: `Got up in attempt ${request.caller.attempt}: ${results(request)[0]}` }),
    ]),
  // May only end by calling complete_task, and has to be told so once.
  counter: (request, rounds) =>
    turns(request, [
      () => call("list_files", { path: "docs" }),
      ...reading(rounds * 2),
      () => ({ text: "I am done, I think." }),
      () =>
        call("complete_task", { summary: `Counted ${results(request)[0]?.split("\n").length}.` }),
    ]),
  asker: (request, rounds) =>
    turns(request, [
      ...reading(rounds),
      () => call("ask_user", { message: "Which colour?" }),
      ...reading(rounds),
      () => ({ text: `Asked: ${results(request)[rounds]}` }),
    ]),
  bookkeeper: (request, rounds) =>
    turns(request, [
      ...Array.from(
        { length: rounds + 2 },
        (_, index) => () => call("append_line", { line: `entry ${index}` }),
      ),
      () => ({ text: `Booked: ${results(request).join(", ")}` }),
    ]),
  // Commands outlive a worker that is killed or stopped, unless somebody sees to it.
  runner: (request, rounds) =>
    turns(request, [
      () => call("shell", { command: "sleep 0.2; echo first" }),
      ...reading(rounds),
      () => call("shell", { command: "sleep 0.1; echo second" }),
      () => ({ text: "Ran." }),
    ]),
};

function turns(request: ModelRequest, steps: readonly (() => ScriptedReply)[]): ScriptedReply {
  return steps[request.caller.turn - 1]?.() ?? { text: "There is nothing left to do." };
}

/** Turns that differ, since the same call again and again is taken for a loop. */
function reading(count: number): readonly (() => ScriptedReply)[] {
  return Array.from(
    { length: count },
    (_, index) => () => call("read_file", { path: "docs/long.md", offset: index + 1, limit: 1 }),
  );
}

function onceCut({ caller }: ModelRequest): ScriptedReply {
  if (caller.try === 1) return { fault: "connection", partial: "I was just" };
  return call("read_file", { path: "docs/south.md" });
}

export function results({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.text.trim()] : []));
}

/** What children said, out of the JSON that `delegate_task` gives; an error's text as it is. */
export function delegated({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => (isDelegated(message) ? [resultIn(message.text)] : []));
}

function isDelegated(message: Message): boolean {
  return message.role === "tool" && message.tool === "delegate_task";
}

function resultIn(text: string): string {
  try {
    return String((JSON.parse(text) as { result: unknown }).result);
  } catch {
    return text;
  }
}
