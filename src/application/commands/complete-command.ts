import { storedLine } from "../../text.ts";
import type { AnyCommand, ArgumentKind, CommandContext } from "./command.ts";
import { labelOf } from "./describe-run.ts";
import { commandsWith } from "./profile-triggers.ts";

/** A completion of a typed text. */
export interface Candidate {
  /** The whole text, with its slash. */
  readonly text: string;
  readonly description: string;
}

const mostCandidates = 50;
const longestPrefix = 4000;
const longestDescription = 100;

/**
 * Completes a typed command: its name, and its arguments. Only reads; returns nothing for a text
 * that begins no command.
 */
export async function completeCommand(
  prefix: string,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  if (!prefix.startsWith("/") || prefix.length > longestPrefix) return [];
  const commands = commandsWith(context.profiles());
  const command = commandBefore(prefix, commands);
  const candidates =
    command === undefined
      ? names(prefix, commands)
      : await argumentsOf(prefix, command, { ...context, commands });
  return candidates.slice(0, mostCandidates).map(({ description, text }) => {
    return { text, description: storedLine(description, longestDescription) };
  });
}

/** The command that precedes the cursor, with a blank after its name. */
function commandBefore(prefix: string, commands: readonly AnyCommand[]): AnyCommand | undefined {
  const named = commands.filter(({ name }) => prefix.startsWith(`/${name} `));
  const longest = named.sort((one, other) => other.name.length - one.name.length)[0];
  const isFamily = commands.some(({ name }) => name.startsWith(`${longest?.name} `));
  return isFamily ? undefined : longest;
}

/** Completes first words; second words after a complete first one. */
function names(prefix: string, commands: readonly AnyCommand[]): readonly Candidate[] {
  const isSecond = prefix.includes(" ");
  const found = new Map<string, string>();
  for (const { about, name } of commands) {
    const text = `/${isSecond ? name : (name.split(" ")[0] ?? name)}`;
    if (text.startsWith(prefix) && !found.has(text)) found.set(text, about);
  }
  return [...found].map(([text, description]) => ({ text, description }));
}

type Scope = CommandContext & { readonly commands: readonly AnyCommand[] };

async function argumentsOf(
  prefix: string,
  { completes = [], name }: AnyCommand,
  scope: Scope,
): Promise<readonly Candidate[]> {
  const typed = prefix.slice(name.length + 2).split(/[ \t]+/);
  const kind = completes[typed.length - 1];
  if (kind === undefined) return [];
  const begun = typed.at(-1) ?? "";
  const before = prefix.slice(0, prefix.length - begun.length);
  const choices = await choicesOf(kind, scope);
  return choices
    .filter(({ text }) => text.startsWith(begun))
    .map(({ description, text }) => ({ text: before + text, description }));
}

async function choicesOf(kind: ArgumentKind, scope: Scope): Promise<readonly Candidate[]> {
  const { commands, controlPlane, profiles, steering } = scope;
  if (typeof kind === "object") return kind.words.map((text) => ({ text, description: "" }));
  switch (kind) {
    case "command":
      return commands.map(({ about, name }) => ({ text: name, description: about }));
    case "handle": {
      const { registry } = await controlPlane.registry();
      return registry.agents.map(({ agentId, description }) => ({ text: agentId, description }));
    }
    case "agent": {
      const named = profiles().map(({ description, name }) => ({ text: name, description }));
      return [...(await choicesOf("handle", scope)), ...named];
    }
    case "ask": {
      const asks = await steering.openAsks();
      return asks.map(({ ask, text }) => ({ text: ask?.id ?? "", description: text }));
    }
    case "open": {
      const runs = await steering.openRuns();
      return runs.flatMap(({ id, state, task }) => [
        { text: id, description: task },
        ...[...(state?.delegations.values() ?? [])]
          .filter(({ status }) => status !== "closed")
          .map((one) => ({ text: one.id, description: `${labelOf(one)}: ${one.title}` })),
      ]);
    }
    case "run": {
      const rows = await steering.sessions();
      return rows.map(({ runId, status, title }) => ({
        text: runId,
        description: `${status}: ${title}`,
      }));
    }
    default:
      return kind satisfies never;
  }
}
