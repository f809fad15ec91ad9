import type { ServerSource } from "../../delegations/engine-parts.ts";
import type { Reminder } from "../../events/cause.ts";
import type { Recording } from "./recording.ts";

/** No server is opened: those that could not be had are missed again, in the same words. */
export function recordedServers({ delegations }: Recording): ServerSource {
  const complaints = new Map<string, Unavailable[]>();
  for (const { events, id } of delegations.values()) {
    const said = events.flatMap(({ payload, type }) =>
      type === "agent.interjected" && payload.cause?.code === "server_unavailable"
        ? payload.cause
        : [],
    );
    if (said.length > 0) complaints.set(id, said);
  }
  return {
    declared: () => ({ kind: "stdio", command: "" }),
    async open(name, _server, { delegationId }) {
      const said = complaints.get(delegationId) ?? [];
      // Earlier versions did not record which server it was: there the order says so.
      const index = said.findIndex(({ server = name }) => server === name);
      const [complaint] = index < 0 ? [] : said.splice(index, 1);
      if (complaint !== undefined) throw new Error(complaint.text);
      return [];
    },
  };
}

type Unavailable = Extract<Reminder, { code: "server_unavailable" }>;
