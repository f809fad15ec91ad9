import { shownName } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isWorkedOn } from "../../../events/is-worked-on.ts";
import { summarize, tellEvent } from "../../../events/summarize.ts";
import type { Store } from "../../../ports/store.ts";
import { formatElapsed } from "../amounts.ts";
import { type Command, flag } from "../command.ts";
import { toneOfOutcome } from "../display.ts";
import { displayWidth, padEnd, shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget, type Target } from "../find-target.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { resumeHint } from "../run-hints.ts";
import { RunView } from "../run-view.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

type Print = (event: StoredEvent, view: RunView) => void;

export const logsCommand: Command = {
  name: "logs",
  usage: "[options] [ID]",
  about:
    "Shows the events of a run or of one delegation, one line each. Without an id, the latest run.",
  options: {
    json: flag("one JSON document per line, with payload and hash"),
    follow: flag("keep printing until the run ends", "f"),
  },
  words: { least: 0, most: 1 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const target = await findTarget(store, given.words[0], io);
      const print = given.flag("json") ? printJson(io) : printLine(io);
      const view = new RunView(store, target.runId);
      const take = (event: StoredEvent) => {
        if (view.apply(event) && concerns(event, target)) print(event, view);
      };
      for await (const event of store.readEvents({ runId: target.runId })) take(event);
      return given.flag("follow") ? follow(store, view, take, io) : exitCode.done;
    }),
};

function concerns({ sub_agent_id }: StoredEvent, { delegationId }: Target): boolean {
  return delegationId === null || sub_agent_id === delegationId;
}

/** Prints new events until the run ends, loses its process, or a signal arrives. */
async function follow(
  store: Store,
  view: RunView,
  take: (event: StoredEvent) => void,
  io: Io,
): Promise<number> {
  const { state } = view;
  const unsubscribe = store.subscribe((events) => events.forEach(take));
  const lookAgain = async (): Promise<void> => {
    for await (const event of store.readEvents({ runId: state.id })) take(event);
  };
  // Events that were written between the first read and the subscription.
  await lookAgain();
  let stopped = false;
  const release = io.onSignal(() => {
    stopped = true;
  });
  while (state.outcome === null && !stopped) {
    if (!(await isWorkedOn(store, state))) {
      // The last events may not have arrived yet: that the run ended, or that another process owns it.
      await lookAgain();
      if (state.outcome !== null || (await isWorkedOn(store, state))) continue;
      io.stderr.write(`No process works on ${state.id}. ${resumeHint(state, io)}\n`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  release();
  unsubscribe();
  return stopped ? exitCode.interrupted : exitCode.done;
}

function printJson(io: Io): Print {
  return (event) => io.stdout.write(`${printableJson(tellEvent(event))}\n`);
}

function printLine(io: Io): Print {
  const { paint, glyphs } = styleFor(io.stdout, io);
  return (event, { state }) => {
    const number = String(event.run_seq).padStart(4);
    const time = formatElapsed(event.at - state.startedAt).padStart(5);
    const delegation = event.sub_agent_id && state.delegations.get(event.sub_agent_id);
    const who = delegation ? `${delegation.id} ${printableLine(shownName(delegation))}` : state.id;
    const left = `${number}  ${time}  ${padEnd(shorten(who, 18, glyphs.ellipsis), 18)}  `;
    const room = io.stdout.isTerminal ? io.stdout.columns - 1 - displayWidth(left) : 1000;
    const text = shorten(printableLine(summarize(event)), Math.max(20, room), glyphs.ellipsis);
    io.stdout.write(`${paint.dim(left)}${toneOf(event, text)}\n`);
  };

  function toneOf({ payload, type }: StoredEvent, text: string): string {
    if (type === "run.finished") return toneOfOutcome(payload.outcome, paint)(text);
    if (type === "agent.subagent_failed") return paint.bad(text);
    if (type === "agent.tool_denied" || type === "agent.retried") return paint.warn(text);
    if (type === "agent.subagent_completed") return paint.good(text);
    if (type === "agent.budget_reserved" || type === "agent.budget_settled") return paint.dim(text);
    return text;
  }
}
