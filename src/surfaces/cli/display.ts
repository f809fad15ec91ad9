import { labelOfCause } from "../../events/cause.ts";
import type { RunOutcome } from "../../events/close-reason.ts";
import { shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { isOfRoot } from "../../events/run-cause.ts";
import { summarize } from "../../events/summarize.ts";
import { formatElapsed } from "./amounts.ts";
import { wrap } from "./display-width.ts";
import type { Io } from "./io.ts";
import { printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";
import { type Paint, type Style, styleFor } from "./style.ts";

/** How people see work in progress: a tree that moves, plain lines, or nothing. */
export interface Display {
  /** Shows this run too from now on. */
  add(view: RunView): void;
  /** An event that is already part of the view. */
  note(event: StoredEvent, view: RunView): void;
  /** Text that stays, on lines of its own. */
  say(text: string): void;
  /** Leaves the screen to another writer, such as a question, until `proceed`. */
  pause(): void;
  proceed(): void;
  /** Clears the drawing, calls `write`, and draws again below what it wrote. */
  clearFor(write: () => void): void;
  /** Draws the last frame, which stays on the screen. */
  end(): void;
}

/** For pipes, files and dumb terminals: one line for each event that matters. */
export class PlainDisplay implements Display {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  note(event: StoredEvent, view: RunView): void {
    if (importanceOf(event, view) === "never") return;
    const style = styleFor(this.#io.stderr, this.#io);
    this.say(noteOf(event, view, style, Number.POSITIVE_INFINITY));
  }

  say(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }

  clearFor(write: () => void): void {
    write();
  }

  add(): void {}
  pause(): void {}
  proceed(): void {}
  end(): void {}
}

/** Prints only text given to `say`, and no events. */
export class QuietDisplay extends PlainDisplay {
  override note(): void {}
}

/**
 * Where an event is shown: `always` stays on the screen above a live tree, `plain` is a line where no
 * tree is drawn, `never` is left to `mandate logs`.
 */
type Importance = "always" | "plain" | "never";

export function importanceOf(event: StoredEvent, { state }: RunView): Importance {
  switch (event.type) {
    case "agent.tool_denied":
    case "agent.tool_outcome_unknown":
    case "agent.model_clamped":
    case "agent.skills_clamped":
    case "agent.answered":
    case "agent.interjected":
    case "agent.compacted":
    case "run.late_result":
      return "always";
    case "agent.subagent_failed": {
      // The command prints why the root failed, with the next step.
      const delegation = state.delegations.get(event.sub_agent_id ?? "");
      if (delegation?.depth === 0) return "never";
      return event.payload.code === "cancelled" ? "plain" : "always";
    }
    case "agent.retried":
      return event.payload.what === "attempt" ? "always" : "plain";
    case "agent.subagent_attempt":
      return event.payload.attempt > 1 ? "plain" : "never";
    case "run.started":
    case "run.resumed":
    case "agent.resumed":
    case "run.finished":
    case "agent.subagent_created":
    case "agent.subagent_waiting_for_merge":
    case "agent.interrupted":
    case "agent.paused":
    case "agent.tool_failed":
      return "plain";
    case "agent.workflow_settled":
      return event.payload.outcome === "value" ? "never" : "plain";
    case "agent.workflow_noted":
      return "always";
    default:
      return "never";
  }
}

/** An event in a line: time, agent, what happened. A terminal gets it wrapped between words. */
export function noteOf(
  event: StoredEvent,
  { state }: RunView,
  { glyphs, paint }: Style,
  columns: number,
): string {
  const time = formatElapsed(event.at - state.startedAt).padStart(5);
  const delegation = event.sub_agent_id && state.delegations.get(event.sub_agent_id);
  const who = delegation ? `${printableLine(shownName(delegation))} ${delegation.id}` : state.id;
  const tone = toneOf(event, paint);
  // A summary may end in an ellipsis that this terminal cannot draw.
  const what = printableLine(inBrief(event)).replaceAll("…", glyphs.ellipsis);
  const [first = "", ...more] = wrap(`${who}  ${what}`, columns - 8);
  return [
    `${paint.dim(time)}  ${paint.strong(who)}${tone(first.slice(who.length))}`,
    ...more.map((line) => `       ${tone(line)}`),
  ].join("\n");
}

/** A run that failed as its root did says only how: the reason is printed with its result. */
function inBrief(event: StoredEvent): string {
  if (event.type !== "run.finished") return summarize(event);
  const { cause, outcome } = event.payload;
  if (outcome === "succeeded") return "run succeeded";
  if (outcome === "cancelled") return summarize(event);
  return isOfRoot(cause) ? `run failed: ${labelOfCause(cause)}` : summarize(event);
}

/** The colour of a run's outcome. */
export function toneOfOutcome(outcome: RunOutcome, paint: Paint): (text: string) => string {
  if (outcome === "cancelled") return paint.warn;
  return outcome === "succeeded" ? paint.good : paint.bad;
}

function toneOf(event: StoredEvent, paint: Paint): (text: string) => string {
  switch (event.type) {
    case "agent.subagent_failed":
      return paint.bad;
    case "run.finished":
      return toneOfOutcome(event.payload.outcome, paint);
    case "agent.tool_denied":
    case "agent.retried":
    case "agent.tool_outcome_unknown":
    case "agent.model_clamped":
    case "agent.skills_clamped":
      return paint.warn;
    default:
      return (text) => text;
  }
}
