import type { Memory } from "../../ports/memory-store.ts";
import type { MemoryOrigin } from "./memory-scope.ts";

export function exampleMemory(fields: Partial<Memory> = {}): Memory {
  return {
    id: "m000001",
    text: "The build takes two minutes.",
    tags: [],
    key: null,
    scope: "delegated",
    workspace: "/work",
    runId: "r1",
    delegationId: "child",
    callId: "call",
    lineage: ["root", "child"],
    profile: "researcher",
    createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    supersedes: null,
    isSuperseded: false,
    promoted: null,
    forgotten: null,
    ...fields,
  };
}

export function exampleOrigin(fields: Partial<MemoryOrigin> = {}): MemoryOrigin {
  return {
    runId: "r1",
    workspace: "/work",
    lineage: ["root", "child"],
    profile: "researcher",
    isRoot: false,
    formerly: [],
    ...fields,
  };
}
