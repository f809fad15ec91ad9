import { type AgentSession, readSession } from "../../../sessions/read-session.ts";
import type { AgentSessionContext } from "../../../sessions/session.ts";
import type { SessionEntry } from "../../../sessions/session-entry.ts";
import { isByPerson, type SessionTrigger } from "../../../sessions/session-trigger.ts";
import type { Arguments } from "../arguments.ts";
import { exitCode } from "../exit-code.ts";
import { indented } from "../indented.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";
import { findSession } from "./find-session.ts";

/** One session: who, where, how it came to be, and what was said. */
export function showSession(given: Arguments, io: Io, [id]: readonly string[]): Promise<number> {
  return withStore(io, async (store) => {
    const session = await readSession(store, await findSession(store, id, io.cwd, io));
    io.stdout.write(
      given.flag("json")
        ? `${printableJson(session, 2)}\n`
        : `${describeSession(session, styleFor(io.stdout, io)).join("\n")}\n`,
    );
    if (session.context?.parentId === null && session.context.finishedAt !== null) {
      io.stderr.write(`Go on with it: ${io.program} run --continue ${session.sessionId} "…"\n`);
    }
    return session.problems.length === 0 ? exitCode.done : exitCode.failed;
  });
}

function describeSession(session: AgentSession, style: Style): string[] {
  const { paint } = style;
  const { context } = session;
  return [
    `${paint.strong(printableLine(session.title))}  ${paint.dim(session.sessionId)}`,
    ...(context === null ? [] : describeContext(context)),
    ...session.problems.map((problem) => paint.bad(printableLine(problem))),
    ...session.entries.flatMap((entry) => ["", ...describeEntry(entry, context, style)]),
  ];
}

function describeContext(context: AgentSessionContext): string[] {
  const { agentId, capability, closeReason, runIds, status, trigger, workspace } = context;
  const ended = closeReason === null ? status : `${status} (${closeReason})`;
  const writes = workspace.allowWrites ? "" : ", read only";
  return [
    `${printableLine(agentId)} as ${capability}, ${ended}, by ${describeTrigger(trigger)}`,
    ...(workspace.root === null ? [] : [`workspace ${printableLine(workspace.root)}${writes}`]),
    ...(runIds.length > 1 ? [`runs ${runIds.join(", ")}`] : []),
  ];
}

function describeTrigger(trigger: SessionTrigger): string {
  switch (trigger.by) {
    case "person":
      return "a person";
    case "program":
      return printableLine(trigger.name);
    case "tool":
      return printableLine(trigger.tool);
    case "slash":
      return printableLine(trigger.word);
    case "step":
      return `step ${printableLine(trigger.step)} of a plan`;
    case "watcher":
      return `watching ${printableLine(trigger.watches)}`;
    default:
      return trigger satisfies never;
  }
}

function describeEntry(
  entry: SessionEntry,
  context: AgentSessionContext | null,
  { paint }: Style,
): string[] {
  switch (entry.kind) {
    case "person":
      return [
        paint.strong(context === null || isByPerson(context.trigger) ? "Person" : "Task"),
        indented(entry.text),
      ];
    case "agent":
      return [paint.strong(printableLine(context?.agentId ?? "Agent")), indented(entry.text)];
    case "call":
      return [paint.dim(`  ${printableLine(entry.tool)}: ${entry.outcome}`)];
    case "remark":
      return [
        `${printableLine(entry.from)} (${printableLine(entry.severity)})`,
        indented(entry.text),
      ];
    case "question":
      return ["Question", indented(entry.text), indented(entry.answer ?? "No answer.")];
    case "child": {
      const { delegationId, profile, status, summary } = entry.breadcrumb;
      const who = `${printableLine(profile)} ${delegationId} ${status}`;
      return [paint.dim(`  ${who}: ${printableLine(summary)}`)];
    }
    case "note":
      return [paint.dim(`  ${printableLine(entry.text)}`)];
    case "lost":
      return [paint.bad(`  Something is missing here: ${printableLine(entry.text)}`)];
    default:
      return entry satisfies never;
  }
}
