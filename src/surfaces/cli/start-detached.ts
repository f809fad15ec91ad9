import { fileURLToPath } from "node:url";
import type { RunState } from "../../events/run-state.ts";
import { ownNode } from "../../workspaces/processes/find-program.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import type { Arguments } from "./command.ts";
import type { Io } from "./io.ts";

/** Options of `run` that matter to what the other process still starts. */
const passedOn = ["model", "answer-default", "answer-within", "speed"];

/**
 * Starts this program again, without a terminal, to work on a run to its end. The new process waits
 * until the present owner releases the run or dies. Resolves with its process id once it has started.
 */
export async function startDetached(
  { id, workspace }: Pick<RunState, "id" | "workspace">,
  given: Pick<Arguments, "text">,
  { cwd, environment }: Pick<Io, "cwd" | "environment">,
): Promise<number | undefined> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const program = fileURLToPath(new URL(`../../mandate.${extension}`, import.meta.url));
  const options = passedOn.flatMap((name) => {
    const value = given.text(name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  const child = startProgram(
    {
      program: ownNode(),
      args: [program, "resume", "--wait", "--quiet", ...options, id],
      environment: definedIn(environment),
      // The run's own folder, so that the same configuration is found.
      folder: workspace ?? cwd,
      leadsGroup: true,
    },
    ["ignore", "ignore", "ignore"],
  );
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  child.unref();
  return child.pid;
}

function definedIn(environment: Io["environment"]): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined) defined[name] = value;
  }
  return defined;
}
