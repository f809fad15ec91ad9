import { type Principal, requireRole } from "../../../control/records/principal.ts";
import type { Steering, WorkRequest } from "../../steering.ts";
import { type AnyCommand, type CommandResult, defineCommand } from "../command.ts";

/** Starts an agent and says so; what comes of it is in the inbox, and never in a reply. */
export async function startWork(
  steering: Steering,
  request: WorkRequest,
  principal: Principal,
): Promise<CommandResult> {
  requireRole("start-work", principal);
  const started = await steering.startRun(request);
  const who = request.profile.startsWith("@") ? `${request.profile} as ` : `${request.profile}#`;
  const { behind } = started;
  const reply =
    behind === undefined
      ? `Started ${who}${started.delegationId} in run ${started.runId}.`
      : `Queued ${who}${started.delegationId} in run ${started.runId}: it begins when run ${behind} has ended.`;
  return { reply, data: { profile: request.profile, ...started } };
}

export interface StartingCommand {
  readonly name: string;
  readonly profile: string;
  /** What the text is: `question`, `goal`. */
  readonly takes: string;
  readonly about: string;
  /** Those of one workspace are worked off one after the other. */
  readonly isGoal?: true;
}

/** A command that gives its text to one profile as a task. */
export function startingCommand(starting: StartingCommand): AnyCommand {
  const { about, isGoal, name, profile, takes } = starting;
  return defineCommand<{ readonly task: string }>({
    name,
    form: `<${takes}>`,
    about,
    profile,
    takesLines: true,
    parse: (task) => (task === "" ? { problem: `The ${takes} is missing.` } : { task }),
    execute: ({ task }, { steering }, principal) =>
      startWork(steering, { profile, task, command: `/${name}`, isGoal }, principal),
  });
}
