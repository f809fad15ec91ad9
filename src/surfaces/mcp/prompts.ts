import {
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { Runtime } from "../../runtime.ts";
import { printableLine } from "../cli/printable.ts";
import { type OfferedWays, offeredWays } from "./instructions.ts";

/** The prompt that works for every profile; a profile of that name would be in its way. */
const anyProfile = "delegate";

const task = { name: "task", description: "What it shall do.", required: true };
const mostCompletions = 100;

export function listPrompts({ profiles }: Runtime): readonly Prompt[] {
  return [
    {
      name: anyProfile,
      title: "Delegate a task",
      description: "Have a task done by a sub-agent of your choice.",
      arguments: [{ name: "profile", description: "Who does it.", required: true }, task],
    },
    ...offered(profiles).map(({ description, name }) => ({
      name,
      title: `Delegate to ${name}`,
      description: printableLine(description),
      arguments: [task],
    })),
  ];
}

export function getPrompt(
  { config, profiles }: Runtime,
  name: string,
  given: Readonly<Record<string, string>>,
): GetPromptResult {
  const whom = name === anyProfile ? given["profile"] : name;
  const profile = profiles.offered().find((one) => one.name === whom);
  if (profile === undefined) {
    const what = name === anyProfile ? `profile ${quoted(whom)}` : `prompt ${quoted(name)}`;
    throw invalid(`There is no ${what}.`);
  }
  const wanted = given["task"]?.trim() ?? "";
  if (wanted === "") throw invalid('"task" is missing: say what shall be done.');
  const text = [
    `Delegate the following task to the sub-agent profile "${profile.name}" ${waysOf(offeredWays(config))}. Give it the context that it needs from our conversation: it sees nothing else. Then tell me what came of it.`,
    `Task:\n${wanted}`,
  ].join("\n\n");
  return {
    description: printableLine(profile.description),
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}

/** With which tools a task is delegated. */
function waysOf({ delegation, spawn }: OfferedWays): string {
  if (!delegation) return "with Mandate's tools spawn and spawn_await";
  const background = spawn
    ? "spawn and spawn_await"
    : "spawn_subagent in the background and get_delegation_result";
  return `with Mandate's delegate_task tool, or with ${background} if it may take longer than a minute`;
}

/** Names of profiles, for the prompt that takes one. */
export function completePrompt(
  { profiles }: Runtime,
  prompt: string,
  argument: { readonly name: string; readonly value: string },
): CompleteResult {
  const isProfile = prompt === anyProfile && argument.name === "profile";
  const names = isProfile ? profiles.offered().map(({ name }) => name) : [];
  const values = names.filter((name) => name.startsWith(argument.value));
  const shown = values.slice(0, mostCompletions);
  return {
    completion: { values: shown, total: values.length, hasMore: values.length > shown.length },
  };
}

function offered(profiles: Runtime["profiles"]): readonly Profile[] {
  return profiles.offered().filter(({ name }) => name !== anyProfile);
}

function quoted(name: string | undefined): string {
  return JSON.stringify((name ?? "").slice(0, 100));
}

function invalid(sentence: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, sentence);
}
