import { coversHost } from "./addresses.ts";
import { type Contract, mayDelegate } from "./contract.ts";
import { type Exposure, fullExposure, noExposure } from "./exposure.ts";
import { includes, isSubset, type Selection } from "./selection.ts";

/**
 * Untrusted input, private data and egress: an agent that holds all three can be talked into
 * sending the second through the third. Pure: the agent's log and its contract decide; the gate acts.
 */

/** Finds the exposure of a tool by its name; undefined: unknown tool. */
export type FindExposure = (tool: string) => Exposure | undefined;

/** Which of untrusted input, private data and egress an agent holds, by its contract alone. */
export interface Trifecta {
  readonly untrusted: boolean;
  readonly private: boolean;
  readonly wayOut: boolean;
}

/** An egress call. */
export interface WayOut {
  readonly tool: string;
  /** The addresses that the call contacts; absent: unknown before the call. */
  readonly destinations?: readonly URL[] | undefined;
  /** Whether the agent received this address, instead of composing it. */
  readonly isKnown?: ((url: URL) => boolean) | undefined;
  /** A message to the agent may have contained private data that its own tools could not read. */
  readonly wasToldPrivate?: boolean | undefined;
}

/** Which of the three a contract grants. Only with all three can `isEgressOpen` be false. */
export function trifectaOf(contract: Contract, exposureOf: FindExposure): Trifecta {
  const { carries = [] } = contract.parent;
  const { allowed_tools: own, can_spawn_children: hasChildren } = contract.permissions;
  const exposures = own.map((tool) => exposureFor(tool, exposureOf));
  // The agent receives what its children read, in their results.
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

/** Whether a tool is egress under this contract. */
export function isEgress({ permissions }: Contract, { wayOut }: Exposure): boolean {
  return wayOut === "granted_hosts" ? permissions.network.length > 0 : wayOut !== false;
}

/**
 * Whether an egress call needs no approval. `untrusted` is the tool that brought untrusted input; null:
 * the agent is not tainted. Without approval a tainted agent may use the configured hosts and tools, the
 * origins that the person named in the task, and known addresses; with an empty allowlist none of them.
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
  const { wayOut } = exposureFor(call.tool, exposureOf);
  const granted = contract.permissions.network;
  // Where the call goes is unknown; it reaches no other host than these.
  if (wayOut === "granted_hosts" && granted !== "*" && isSubset(granted, open)) return true;
  // A tool that sends more than the address could leak data to a known address.
  const sendsAddress = wayOut === "address";
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
  // The exposure of a server's tools is unknown, or known only from the server itself.
  if (tool.startsWith("mcp__")) return fullExposure;
  return exposureOf(tool) ?? noExposure;
}

/** `mcp__*` names no server that exists, so it is left out. */
function namesOf(selection: Selection): readonly string[] {
  return selection === "*" ? [] : selection.filter((tool) => tool !== "mcp__*");
}
