import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

export type Registry = Operations["getRegistry"]["reply"]["value"];
export type AgentEntry = Registry["agents"][number];

/** A registered agent as a form has it: lists are names separated by commas. */
export interface AgentFields {
  readonly agentId: string;
  readonly profileId: string;
  readonly description: string;
  readonly tags: string;
  readonly defaultForwardSkills: string;
  readonly defaultMcpServers: string;
  /** Null: no restriction. Empty: none is allowed. */
  readonly allowedForwardSkills: string | null;
  readonly allowedMcpServers: string | null;
}

export const newAgent: AgentFields = {
  ...{ agentId: "@", profileId: "", description: "", tags: "" },
  ...{ defaultForwardSkills: "", defaultMcpServers: "" },
  ...{ allowedForwardSkills: null, allowedMcpServers: null },
};

export function fieldsOf(entry: AgentEntry): AgentFields {
  const { agentId, description, profileId } = entry;
  const shown = (names: readonly string[] | undefined): string => names?.join(", ") ?? "";
  return {
    ...{ agentId, description, profileId, tags: shown(entry.tags) },
    defaultForwardSkills: shown(entry.defaultForwardSkills),
    defaultMcpServers: shown(entry.defaultMcpServers),
    allowedForwardSkills: entry.allowedForwardSkills?.join(", ") ?? null,
    allowedMcpServers: entry.allowedMcpServers?.join(", ") ?? null,
  };
}

/** The whole entry: a list that the form left empty is absent, and a restriction stays one. */
export function entryOf(fields: AgentFields): AgentEntry {
  const { agentId, allowedForwardSkills, allowedMcpServers, description, profileId } = fields;
  const [tags, skills, servers] = [
    namesIn(fields.tags),
    namesIn(fields.defaultForwardSkills),
    namesIn(fields.defaultMcpServers),
  ];
  return {
    ...{ agentId: agentId.trim(), profileId, description: description.trim() },
    ...(tags.length > 0 && { tags }),
    ...(skills.length > 0 && { defaultForwardSkills: skills }),
    ...(servers.length > 0 && { defaultMcpServers: servers }),
    ...(allowedForwardSkills !== null && { allowedForwardSkills: namesIn(allowedForwardSkills) }),
    ...(allowedMcpServers !== null && { allowedMcpServers: namesIn(allowedMcpServers) }),
  };
}

/** The registry with this entry, in the place of the one with its handle, or at the end. */
export function withEntry(registry: Registry, entry: AgentEntry): Registry {
  const index = registry.agents.findIndex(({ agentId }) => agentId === entry.agentId);
  const agents = index < 0 ? [...registry.agents, entry] : registry.agents.with(index, entry);
  return { ...registry, agents };
}

export interface FieldProblem {
  /** Null: of the whole registry, or of another entry. */
  readonly field: keyof AgentFields | null;
  readonly message: string;
}

/** The server's validation errors, at the fields of the form. */
export function problemsAt(
  detail: string,
  registry: Registry,
  agentId: string,
): readonly FieldProblem[] {
  const own = registry.agents.findIndex((entry) => entry.agentId === agentId);
  return detail.split("\n").map((line) => {
    const [, index, name, message] = /^agents\[(\d+)\]\.(\w+)(?:\[\d+\])?: (.*)$/s.exec(line) ?? [];
    const field = Object.keys(newAgent).find((key) => key === name);
    if (field === undefined || message === undefined || Number(index) !== own) {
      return { field: null, message: line };
    }
    return { field: field as keyof AgentFields, message };
  });
}

function namesIn(text: string): readonly string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
