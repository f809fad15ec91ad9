import type { Profile } from "../../../src/agents/profiles/profile.ts";
import type { ScriptedReply } from "../../../src/models/scripted/playbook.ts";
import type { Script } from "../../../src/models/scripted/scripted-model.ts";
import type { ModelRequest } from "../../../src/ports/model.ts";

/** What a run of the soak does; the first word of its task says which. */
export const kinds = ["survey", "dig", "spawn", "stumble", "bulky", "write", "ask"] as const;

const workTools = ["list_files", "read_file", "ask_user", "memory_save"];
const leadTools = [...workTools, "write_file", "delegate_task", "spawn", "spawn_await"];
/** Who can write gets a copy of the workspace: one run in seven is about that. */
const toolsOf = (name: string) => {
  if (name === "lead") return leadTools;
  return name === "writer" ? [...workTools, "write_file"] : [...workTools, "delegate_task"];
};

export const profiles: readonly Profile[] = ["lead", "worker", "asker", "writer", "slow"].map(
  (name) => ({
    name,
    description: `The ${name} of the soak`,
    capabilities: ["subtask"],
    prompt: `You are the ${name}.`,
    tools: toolsOf(name),
    mayDelegate: { tools: leadTools },
    model: { maxOutputTokens: 500 },
    origin: "soak",
  }),
);

const call = (tool: string, input: unknown) => ({ tool, input });
const hand = (profile: string, task: string) => call("delegate_task", { profile, task });

/** Answers after a moment, as a model would, only sooner; told by the request alone. */
export const script: Script = (request) => {
  const { profile, task, turn } = request.caller;
  if (profile === "slow" || task.startsWith("slow"))
    return { text: "At last.", latency_ms: 60_000 };
  const reply = profile === "lead" ? lead(request) : member(request);
  return { latency_ms: 15 + ((task.length * 7 + turn * 13) % 30), chunks: 3, ...reply };
};

function lead({ caller: { task, turn }, messages }: ModelRequest): ScriptedReply {
  if (turn === 1) return { calls: [call("list_files", { path: "." })] };
  if (turn === 2) return { calls: assignments(task) };
  if (task.startsWith("spawn") && turn === 3) {
    return { calls: [call("spawn_await", { job_ids: "*" })] };
  }
  return { text: `All ${messages.length} messages were read.` };
}

function assignments(task: string) {
  switch (task.split(" ")[0]) {
    case "spawn":
      return [1, 2, 3].map((part) =>
        call("spawn", { profile: "worker", task: `part ${part} of ${task}` }),
      );
    case "dig":
      return [hand("worker", `delegate: ${task}`)];
    case "ask":
      return [hand("asker", task)];
    case "write":
      return [hand("writer", task)];
    default:
      return [1, 2, 3].map((part) => hand("worker", `${task}, part ${part}`));
  }
}

function member({ caller: { profile, task, turn, ...caller } }: ModelRequest): ScriptedReply {
  if (turn === 1 && task.startsWith("stumble") && caller.try === 1) return { fault: "overloaded" };
  if (turn === 1) return { calls: [call("read_file", { path: "docs/north.md" })] };
  if (turn > 2) return { text: `Done with ${task}.` };
  if (profile === "asker") return { calls: [call("ask_user", { message: "Which colour?" })] };
  if (profile === "writer") {
    return {
      calls: [
        call("write_file", { path: `out/${task.replaceAll(" ", "-")}.md`, content: `${task}\n` }),
      ],
    };
  }
  if (task.startsWith("delegate")) return { calls: [hand("worker", `below ${task}`)] };
  if (task.startsWith("bulky")) return { calls: [call("read_file", { path: "docs/large.md" })] };
  return { calls: [call("memory_save", { text: `North is dry, says ${task}.` })] };
}
