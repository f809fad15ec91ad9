import type { ServerSource } from "../../delegations/engine-parts.ts";
import type { Recording } from "./recording.ts";

const ending = " Its tools are not available to you.";

/** No server is opened: those that could not be had are missed again, in the same words. */
export function recordedServers({ delegations }: Recording): ServerSource {
  const complaints = new Map<string, string[]>();
  for (const { events, id } of delegations.values()) {
    const said = events.flatMap(({ payload, type }) =>
      type === "agent.interjected" && payload.from === "mcp" && payload.message.endsWith(ending)
        ? payload.message.slice(0, -ending.length)
        : [],
    );
    if (said.length > 0) complaints.set(id, said);
  }
  return {
    declared: () => ({ kind: "stdio", command: "" }),
    async open(_name, _server, { delegationId }) {
      const complaint = complaints.get(delegationId)?.shift();
      if (complaint !== undefined) throw new Error(complaint);
      return [];
    },
  };
}
