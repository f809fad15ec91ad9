import type { StoredEvent } from "../../events/event.ts";

/** Where each delegation stands in the tree of its run: `boss`, `boss › 2 writer`. */
export function delegationPaths(events: readonly StoredEvent[]): ReadonlyMap<string, string> {
  const created = events.filter((event) => event.type === "agent.subagent_created");
  const children = Map.groupBy(created, ({ payload }) => payload.parent_id);
  const paths = new Map<string, string>();
  const visit = (parent: string | null, above: string): void => {
    const siblings = [...(children.get(parent) ?? [])].sort(
      (one, other) => one.payload.step_idx - other.payload.step_idx,
    );
    for (const [index, { payload, sub_agent_id: id = "" }] of siblings.entries()) {
      const isRoot = parent === null && index === 0;
      const own = isRoot ? payload.profile : `${index + 1} ${payload.profile}`;
      const path = above === "" ? own : `${above} › ${own}`;
      // A log that goes in circles is for the checker; here it must only not go on for ever.
      if (paths.has(id)) continue;
      paths.set(id, path);
      visit(id, path);
    }
  };
  visit(null, "");
  return paths;
}
