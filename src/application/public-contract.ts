import { type AgentRunner, describeRunner, notEnforced } from "../contracts/agent-runner.ts";
import type { Contract } from "../contracts/contract.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import type { Store } from "../ports/store.ts";
import { exportSession, type SessionFormat } from "../sessions/export-session.ts";
import { harmlessJson } from "../sessions/harmless-text.ts";
import { describeServer } from "../tools/mcp/describe-server.ts";
import type {
  CutRow,
  EffectiveField,
  EffectiveProfile,
  WaitingLayer,
} from "./effective-profile.ts";

/** What remote readers see. Some of them may see prompts; no reader sees how a server is configured. */
interface PublicOptions {
  readonly withPrompts: boolean;
}

/** A contract in which each server is described without its configured values. */
export type PublicContract = Omit<Contract, "servers"> & {
  readonly servers?: Readonly<Record<string, string>>;
};

export function publicContract({ runner, servers, ...contract }: Contract): PublicContract {
  return {
    ...contract,
    ...(runner !== undefined && { runner: withoutArguments(runner) }),
    ...(servers !== undefined && { servers: describeServers(servers) }),
  };
}

/** The agent program of a contract, and what nothing enforces of it, as rows for people. */
export function programRows({
  runner,
}: Pick<Contract, "runner">): readonly (readonly [label: string, text: string])[] {
  if (runner === undefined) return [];
  const open = notEnforced(runner);
  const rows = [["program", describeRunner(runner)]] as const;
  return open === undefined ? rows : [...rows, ["not enforced", open]];
}

/** The command of a program may have a secret among its arguments. */
function withoutArguments(runner: AgentRunner): AgentRunner {
  return "acp" in runner ? { acp: runner.acp.map((word, at) => (at === 0 ? word : "…")) } : runner;
}

/** A server's declaration may contain a secret, in a header or an argument. */
function describeServers(
  servers: Readonly<Record<string, McpServer>>,
): Readonly<Record<string, string>> {
  const told = Object.entries(servers).map(([name, server]) => [name, describeServer(server)]);
  return Object.fromEntries(told) as Readonly<Record<string, string>>;
}

/** A prompt that the reader may not see is null. */
type PublicProfile = Omit<EffectiveProfile, "cut" | "prompt" | "waiting"> & {
  readonly cut: readonly Pick<CutRow, "field" | "origin">[];
  readonly prompt: string | null;
  readonly waiting: readonly (Omit<WaitingLayer, "prompt"> & { readonly prompt: string | null })[];
};

/** A profile for a remote reader: the registry is public, and prompts are for operators. */
export function publicProfile(
  profile: EffectiveProfile,
  { withPrompts }: PublicOptions,
): PublicProfile {
  return {
    ...profile,
    fields: profile.fields.map((field) => withoutText(field, withPrompts)),
    prompt: withPrompts ? profile.prompt : null,
    // Without the values: a declaration of a server may hold a secret.
    cut: profile.cut.map(({ field, origin }) => ({ field, origin })),
    waiting: profile.waiting.map(({ fields, prompt, ...layer }) => ({
      ...layer,
      fields: fields.map((field) => withoutText(withoutValues(field), withPrompts)),
      prompt: withPrompts ? prompt : null,
    })),
  };
}

function withoutValues(row: EffectiveField): EffectiveField {
  if (row.field !== "servers") return row;
  return { ...row, value: describeServers(row.value as Readonly<Record<string, McpServer>>) };
}

/** The opening is a part of the prompt. */
function withoutText(row: EffectiveField, withPrompts: boolean): EffectiveField {
  return row.field === "opening" && !withPrompts ? { ...row, value: null } : row;
}

/** An exported session for a remote reader. */
export async function* publicExport(
  store: Store,
  id: string,
  { format, withPrompts }: PublicOptions & { readonly format: SessionFormat },
): AsyncGenerator<string> {
  for await (const piece of exportSession(store, id, format)) {
    yield format === "jsonl" ? publicLine(piece, withPrompts) : piece;
  }
}

function publicLine(line: string, withPrompts: boolean): string {
  const isConcerned = /^\{"record":"(?:contract|prompt)"/.test(line);
  if (!isConcerned) return line;
  const record = JSON.parse(line) as { readonly record: string; readonly contract?: Contract };
  const told =
    record.contract !== undefined
      ? { ...record, contract: publicContract(record.contract) }
      : withPrompts
        ? record
        : { ...record, text: null };
  return `${harmlessJson(told)}\n`;
}
