import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import type { AgentEntry } from "./agent-registry.ts";
import { ControlPlane } from "./control-plane.ts";
import type { Principal } from "./principal.ts";

export const viewer: Principal = { id: "vera", role: "viewer" };
export const operator: Principal = { id: "otto", role: "operator" };
export const admin: Principal = { id: "ada", role: "admin" };

export interface OpenedPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly store: SqliteStore;
  /** Profiles that exist beside records; a test adds and removes them. */
  readonly profiles: Set<string>;
}

/** A control plane on the real store; in memory unless a file is named. */
export function openControlPlane(path = ":memory:"): OpenedPlane {
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const profiles = new Set(["writer", "researcher", "coder"]);
  return {
    plane: new ControlPlane({ store, profiles }),
    store,
    profiles,
    [Symbol.asyncDispose]: () => store.close(),
  };
}

export function agent(agentId: string, fields: Partial<AgentEntry> = {}): AgentEntry {
  return { agentId, profileId: "writer", description: `What ${agentId} does`, ...fields };
}

/** The code and the words of what is thrown, for comparing. */
export async function refusalOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
  } catch (error) {
    const { code = "?", message } = error as { code?: string; message: string };
    return `${code}: ${message}`;
  }
  return "accepted";
}
