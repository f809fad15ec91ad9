// The agent programs that Mandate knows, as they are published: which package, and how their models call
// a shell and a sub-agent of the program's own.
import type { KnownAgent } from "../../src/contracts/agent-runner.ts";
import type { Conversation, Reply } from "../clients/model-protocols.ts";

export interface RealAgent {
  readonly name: KnownAgent;
  readonly package: string;
}

export const realAgents: readonly RealAgent[] = [
  { name: "claude-code", package: "@agentclientprotocol/claude-agent-acp@0.99.1" },
  { name: "codex", package: "@agentclientprotocol/codex-acp@2.6.0" },
  { name: "gemini", package: "@google/gemini-cli@0.61.0" },
  { name: "opencode", package: "opencode-ai@1.18.33" },
];

type ToCall = (argument: string) => Reply;

const called = (name: string, args: object, namespace?: string): Reply => ({
  call: { name, ...(namespace !== undefined && { namespace }) },
  args,
});

/** By the name of the tool that the program offers. */
const shells: Readonly<Record<string, ToCall>> = {
  Bash: (command) => called("Bash", { command, description: "Runs it" }),
  exec: (cmd) => ({
    code: `text(JSON.stringify(await tools.exec_command(${JSON.stringify({ cmd })})));`,
  }),
  exec_command: (cmd) => called("exec_command", { cmd }),
  run_shell_command: (command) => called("run_shell_command", { command, description: "Runs it." }),
  bash: (command) => called("bash", { command, description: "Runs it" }),
};

const subAgents: Readonly<Record<string, ToCall>> = {
  Agent: (prompt) =>
    called("Agent", { description: "a task", prompt, subagent_type: "general-purpose" }),
  spawn_agent: (message) =>
    called("spawn_agent", { task_name: "part", message, fork_turns: "none" }, "collaboration"),
  invoke_agent: (prompt) => called("invoke_agent", { agent_name: "generalist", prompt }),
  task: (prompt) => called("task", { description: "a task", prompt, subagent_type: "general" }),
};

/** Null: the program offers no such tool. */
export function shellCall(conversation: Conversation, line: string): Reply | null {
  return callOf(shells, conversation, line);
}

export function subAgentCall(conversation: Conversation, prompt: string): Reply | null {
  return callOf(subAgents, conversation, prompt);
}

function callOf(
  table: Readonly<Record<string, ToCall>>,
  { tools }: Conversation,
  argument: string,
): Reply | null {
  const tool = tools.find(({ name }) => Object.hasOwn(table, name));
  return tool === undefined ? null : (table[tool.name]?.(argument) ?? null);
}
