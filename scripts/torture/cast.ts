import type { Profile } from "../../src/agents/profiles/profile.ts";
import type { ModelRequest } from "../../src/ports/model.ts";
import { doings, type Role } from "./doings.ts";

/** A direct child of the root. */
export interface Part {
  readonly role: Role;
  readonly way: "delegate_task" | "spawn";
  readonly task: string;
}

const directRoles = [
  ["reader", "delegate_task"],
  ["writer", "delegate_task"],
  ["planner", "delegate_task"],
  ["stumbler", "delegate_task"],
  ["counter", "spawn"],
  ["asker", "spawn"],
  ["bookkeeper", "spawn"],
] as const satisfies readonly (readonly [Role, Part["way"]])[];

/** Who the root delegates to, so that the run has so many children; a planner brings its own. */
export function partsOf(children: number, cast?: readonly Role[]): readonly Part[] {
  const parts: Part[] = [];
  const roles = cast?.map((role) => [role, "delegate_task"] as const) ?? directRoles;
  for (let left = children; left > 0; ) {
    const [wanted, way] = roles[parts.length % roles.length] ?? directRoles[0];
    const role = wanted === "planner" && left < 2 ? "reader" : wanted;
    parts.push({ role, way, task: `${role} ${parts.length + 1}` });
    left -= role === "planner" ? 2 : 1;
  }
  return parts;
}

const workTools = [
  "list_files",
  "read_file",
  "write_file",
  "ask_user",
  "append_line",
  "complete_task",
];
const leadTools = [...workTools, "delegate_task", "spawn", "spawn_await", "shell"];

export function profiles(): readonly Profile[] {
  return ["lead", ...Object.keys(doings)].map((name) => ({
    name,
    description: `The ${name} of the torture`,
    capabilities: ["subtask"],
    prompt: `You are the ${name}.`,
    tools:
      name === "lead"
        ? leadTools
        : name === "planner"
          ? [...workTools, "delegate_task"]
          : name === "runner"
            ? [...workTools, "shell"]
            : workTools,
    mayDelegate: { tools: leadTools },
    // Every kill costs the worst case of the requests under way; the budget must outlast them.
    model: { maxOutputTokens: 100 },
    ...(name === "counter" && { exit: { tools: ["complete_task"] } }),
    origin: "torture",
  }));
}

/** From 5 to 40 ms, the same every time for the same turn of the same agent. */
export function latencyOf({ caller }: ModelRequest): number {
  let mixed = caller.turn * 31 + caller.attempt;
  for (const character of caller.task) mixed = (mixed * 33 + character.charCodeAt(0)) % 65_521;
  return 5 + (mixed % 36);
}
