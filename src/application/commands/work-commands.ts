import { type Principal, requireRole } from "../../control/records/principal.ts";
import { quote } from "../../control/records/shown-text.ts";
import { reviewTask } from "../../tools/delegation/review.ts";
import type { Steering, WorkRequest } from "../steering.ts";
import { type AnyCommand, type CommandResult, defineCommand } from "./command.ts";
import { handleProblem, idIn, splitFirstWord } from "./parse-arguments.ts";

/** Starts an agent. Its result goes to the inbox, never into the reply. */
async function startWork(
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

interface StartingCommand {
  readonly name: string;
  readonly profile: string;
  /** The name of the argument: `question`, `goal`. */
  readonly takes: string;
  readonly about: string;
  /** Queued runs of one workspace run one after the other. */
  readonly isGoal?: true;
}

/** A command that starts one profile with its argument as the task. */
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

interface WatchingCommand {
  readonly name: string;
  readonly profile: string;
  readonly about: string;
  /** Whether any other text is a task for the profile. */
  readonly takesTask: boolean;
}

type Given =
  | { readonly act: "on" | "off" | "toggle"; readonly id?: string }
  | { readonly act: "task"; readonly task: string };

/**
 * A command that switches a watcher on or off, for the running root or the given id. Without
 * arguments it toggles, as a hotkey needs. Any other text is a task, if the profile takes one.
 */
export function watchingCommand(about: WatchingCommand): AnyCommand {
  const { name, profile, takesTask } = about;
  return defineCommand<Given>({
    name,
    form: takesTask ? "[on|off] [id], or a task" : "[on|off] [id]",
    about: about.about,
    profile,
    takesLines: true,
    completes: [{ words: ["on", "off"] }, "open"],
    parse(rest) {
      if (rest === "") return { act: "toggle" };
      const [act, text] = splitFirstWord(rest);
      const id = idIn(text);
      if ((act === "on" || act === "off") && (text === "" || id !== undefined)) {
        return id === undefined ? { act } : { act, id };
      }
      if (takesTask) return { act: "task", task: rest };
      return { problem: "It takes on or off, and perhaps the id of a run or a delegation." };
    },
    async execute(given, { steering }, principal) {
      if (given.act === "task") {
        return startWork(steering, { profile, task: given.task, command: `/${name}` }, principal);
      }
      requireRole("start-work", principal);
      const id = given.id ?? (await steering.runAtWork());
      const present = await steering.watchers(id, profile);
      const isOn = given.act === "toggle" ? present.length === 0 : given.act === "on";
      return isOn ? begin(steering, id, profile, present) : end(steering, id, profile, present);
    },
  });
}

async function begin(
  steering: Steering,
  id: string,
  profile: string,
  [present]: readonly string[],
) {
  const watcher = present ?? (await steering.watch(id, profile));
  const reply =
    present === undefined
      ? `${profile}#${watcher} watches ${id}.`
      : `${profile}#${watcher} watches ${id} already.`;
  return { reply, data: { id, profile, watching: true, watchers: [watcher] } };
}

async function end(steering: Steering, id: string, profile: string, present: readonly string[]) {
  const watchers = present.length === 0 ? [] : await steering.unwatch(id, profile);
  const reply =
    watchers.length === 0
      ? `No ${profile} watches ${id}.`
      : `${watchers.map((one) => `${profile}#${one}`).join(", ")} no longer watches ${id}.`;
  return { reply, data: { id, profile, watching: false, watchers } };
}

export const askOracle = startingCommand({
  name: "oracle",
  profile: "oracle",
  takes: "question",
  about: "Asks a senior adviser, who looks and changes nothing.",
});

export const orchestrate = startingCommand({
  name: "orchestrate",
  profile: "orchestrator",
  takes: "goal",
  about:
    "Plans a larger goal, has several agents carry it out, and reviews the result. The run is queued: one at a time in a workspace.",
  isGoal: true,
});

export const pair = watchingCommand({
  name: "pair",
  profile: "pair",
  about: "Has a pair programmer watch what runs, or no longer, or gives it a question to explore.",
  takesTask: true,
});

/** A range of commits: `main`, `main..topic`, `HEAD~3`. Git decides later whether it exists. */
const rangeForm = /^[A-Za-z0-9_][\w./~^@{}-]{0,400}$/;

export const review = defineCommand<{ readonly range?: string }>({
  name: "review",
  form: "[range]",
  about: "Has a reviewer judge what is not committed yet, or a range of commits: main..topic.",
  profile: "reviewer",
  parse(rest) {
    if (rest === "") return {};
    if (rangeForm.test(rest)) return { range: rest };
    return { problem: `${quote(rest)} is not a range of commits, such as main..topic.` };
  },
  async execute({ range }, { steering }, principal) {
    // Checked before the diff is computed.
    requireRole("start-work", principal);
    const changes = await steering.changes(range);
    if (changes.text === "") {
      return { reply: "There is nothing to review: no change was found.", data: null };
    }
    const request = { profile: "reviewer", command: "/review", ...reviewTask({ changes }) };
    return startWork(steering, request, principal);
  },
});

export const runWorkflow = defineCommand<{ readonly name: string; readonly args: unknown }>({
  name: "workflow",
  form: "<name> [args]",
  about: "Runs a workflow script by its name; args are JSON, or a text.",
  takesLines: true,
  parse(rest) {
    const [name, said] = splitFirstWord(rest);
    if (name === "") return { problem: "The name of the workflow is missing." };
    return { name, args: said === "" ? undefined : said };
  },
  async execute({ args, name }, { steering }, principal) {
    requireRole("start-work", principal);
    const started = await steering.startWorkflow({ name, args, command: "/workflow" });
    const reply = `Started the workflow ${quote(name)} in run ${started.runId}.`;
    return { reply, data: { name, ...started } };
  },
});

const profileForm = /^[a-z0-9][a-z0-9_:.-]{0,127}$/;

export const spawnAgent = defineCommand<{ readonly agent: string; readonly task: string }>({
  name: "spawnagent",
  form: "<@agent|profile> <prompt>",
  about: "Gives a task to an agent or a profile by its name.",
  takesLines: true,
  completes: ["agent"],
  parse(rest) {
    const [agent, task] = splitFirstWord(rest);
    if (agent === "") return { problem: "The agent and its prompt are missing." };
    if (agent.startsWith("@")) {
      const problem = handleProblem(agent);
      if (problem !== undefined) return problem;
    } else if (!profileForm.test(agent)) {
      return { problem: `${quote(agent)} is neither a handle nor the name of a profile.` };
    }
    return task === "" ? { problem: "The prompt is missing." } : { agent, task };
  },
  execute: ({ agent, task }, { steering }, principal) =>
    startWork(steering, { profile: agent, task, command: "/spawnagent" }, principal),
});
