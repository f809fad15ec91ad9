import { coversHost } from "./addresses.ts";
import { type Contract, mayDelegate } from "./contract.ts";
import { type Exposure, fullExposure, noExposure } from "./exposure.ts";
import { includes, type Selection } from "./selection.ts";

/**
 * Untrusted input, private data and egress: an agent that holds all three can be talked into
 * sending the second through the third. Pure: what the log says that it has read, and what its
 * contract grants, decide; the gate acts.
 */

/** What a tool of this name does with information; undefined: there is no such tool. */
export type FindExposure = (tool: string) => Exposure | undefined;

/** What an agent holds of the three, by its contract alone. */
export interface Trifecta {
  readonly untrusted: boolean;
  readonly private: boolean;
  readonly wayOut: boolean;
}

/** A call that could carry something out. */
export interface WayOut {
  readonly tool: string;
  /** Where it leads; absent: that cannot be told before it is made. */
  readonly destinations?: readonly URL[] | undefined;
  /** Whether an address is in the agent's conversation already, and no agent composed it. */
  readonly isKnown?: ((url: URL) => boolean) | undefined;
  /** A message can have brought private data that the agent's own tools and contract could not. */
  readonly wasToldPrivate?: boolean | undefined;
}

/** A contract that holds all three is marked: in it the rule below can close something. */
export function trifectaOf(contract: Contract, exposureOf: FindExposure): Trifecta {
  const { carries = [] } = contract.parent;
  const { allowed_tools: own, can_spawn_children: hasChildren } = contract.permissions;
  const exposures = own.map((tool) => exposureFor(tool, exposureOf));
  // What its children can read comes to it as their results.
  const below = hasChildren ? namesOf(mayDelegate(contract).tools) : [];
  const brought = [...exposures, ...below.map((tool) => exposureFor(tool, exposureOf))];
  const hasWorkspace = contract.workspace.root !== null;
  return {
    untrusted: carries.includes("untrusted") || brought.some(({ untrusted }) => untrusted),
    private:
      carries.includes("private") ||
      brought.some(({ private: it }) => (it === "workspace" ? hasWorkspace : it)),
    wayOut: exposures.some((exposure) => isEgress(contract, exposure)),
  };
}

/** Whether a tool can carry something out under this contract. */
export function isEgress({ permissions }: Contract, { wayOut }: Exposure): boolean {
  return wayOut === "any_host" ? permissions.network === "*" : wayOut !== false;
}

/**
 * Whether an egress call may be made without a person's approval, for an agent that has read
 * `untrusted` (the tool that brought it; null: nothing yet). Open stay the hosts and tools that the
 * person configured, the origins that the person named in the task, and known addresses. A contract
 * with an empty list leaves nothing open.
 */
export function isEgressOpen(
  contract: Contract,
  untrusted: string | null,
  call: WayOut,
  exposureOf: FindExposure,
): boolean {
  if (untrusted === null) return true;
  const { ways_out: open = [] } = contract.permissions;
  if (includes(open, call.tool)) return true;
  const { destinations = [], isKnown } = call;
  // Of a tool that sends more than the address, a known address says nothing of the rest.
  const sendsAddress = exposureFor(call.tool, exposureOf).wayOut === "address";
  const leadsToOpen = destinations.every(
    (url) =>
      coversHost(open, url) ||
      includes(open, url.origin) ||
      (open.length > 0 && sendsAddress && isKnown?.(url) === true),
  );
  if (destinations.length > 0 && leadsToOpen) return true;
  // The call is egress and the agent is tainted: only private data is left to ask about.
  return call.wasToldPrivate !== true && !trifectaOf(contract, exposureOf).private;
}

function exposureFor(tool: string, exposureOf: FindExposure): Exposure {
  // A server's tools are known by pattern until it runs, and by its own word afterwards.
  if (tool.startsWith("mcp__")) return fullExposure;
  return exposureOf(tool) ?? noExposure;
}

/** That any server at all might be handed on says nothing yet of one that there is. */
function namesOf(selection: Selection): readonly string[] {
  return selection === "*" ? [] : selection.filter((tool) => tool !== "mcp__*");
}
