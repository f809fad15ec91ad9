/** The value of `policy/agent-registry:default`: the handles that can be delegated to. */
export interface AgentRegistry {
  readonly version: 1;
  readonly agents: readonly AgentEntry[];
}

/** Absent `allowed…` adds no restriction, `[]` allows none; absent `default…` forwards none. */
export interface AgentEntry {
  /** `@writer` */
  readonly agentId: string;
  readonly profileId: string;
  readonly description: string;
  readonly defaultForwardSkills?: readonly string[];
  readonly allowedForwardSkills?: readonly string[];
  readonly defaultMcpServers?: readonly string[];
  readonly allowedMcpServers?: readonly string[];
  readonly tags?: readonly string[];
}

export const emptyRegistry: AgentRegistry = { version: 1, agents: [] };
