import { addressesIn } from "../../contracts/addresses-in.ts";
import type { Contract } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import { trifectaOf } from "../../contracts/trifecta.ts";
import { Evidence } from "../../events/evidence.ts";
import { exposuresIn } from "../../tools/exposure-of.ts";
import { isKnownAddress } from "../../tools/known-address.ts";
import { untrustedIn } from "../conversation.ts";
import { findTool } from "../delegation-process.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type LiveDelegation, untrustedOf } from "../live-delegation.ts";
import type { Start } from "./start-delegation.ts";

type Parts = Pick<EngineParts, "store" | "toolbox">;

/** What a new delegation begins with that its own tools did not bring: see `Contract`. */
export function carriedBy(start: Start, hasPromptFiles: boolean): readonly Carried[] {
  const { caller, carries = [], isTold, run, way } = start;
  // It is shown what others read and say.
  if (way === "watch") return both;
  if (caller !== null && (isTold === true || untrustedOf(caller) !== null)) {
    return from(caller.contract, caller.said.evidence, run.parts);
  }
  return carries.length === 0 && hasPromptFiles ? untrusted : carries;
}

/** What a message of an agent carries: the same as a task that it delegates. */
export function carriedByMessage(agent: LiveDelegation): readonly Carried[] {
  if (untrustedOf(agent) === null) return [];
  return from(agent.contract, agent.said.evidence, agent.run.parts);
}

/** The addresses of its task that it may fetch as they are: see `Contract`. */
export function addressesFor({ addresses, caller, isTold, request }: Start): readonly string[] {
  if (addresses !== undefined) return addresses;
  const found = [...addressesIn(`${request.task}\n${request.context ?? ""}`)].slice(
    0,
    mostAddresses,
  );
  if (caller === null || (untrustedOf(caller) === null && isTold !== true)) return found;
  const { contract, said } = caller;
  const find = (name: string) => findTool(caller, name);
  const conversation = { contract, find, messages: said.transcript.messages };
  return found.filter((href) => isKnownAddress(new URL(href), conversation));
}

const mostAddresses = 200;

/** The same of one that goes on from a stored delegation, whose conversation it begins with. */
export async function carriedFrom(parts: Parts, id: string): Promise<readonly Carried[]> {
  const contract = await parts.store.readContract(id);
  const evidence = new Evidence();
  for await (const event of parts.store.readEvents({ delegationId: id })) evidence.see(event);
  return untrustedIn(contract, evidence) === null ? [] : from(contract, evidence, parts);
}

/** Who has read a stranger's words may have been told to pass on whatever it could read. */
function from(
  contract: Contract,
  { holdsPrivate }: Pick<Evidence, "holdsPrivate">,
  { toolbox }: Pick<Parts, "toolbox">,
): readonly Carried[] {
  const held = trifectaOf(
    contract,
    exposuresIn((name) => toolbox.get(name)),
  );
  return holdsPrivate || held.private ? both : untrusted;
}

const untrusted: readonly Carried[] = Object.freeze(["untrusted"]);
const both: readonly Carried[] = Object.freeze(["untrusted", "private"]);
