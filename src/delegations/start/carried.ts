import type { Contract } from "../../contracts/contract.ts";
import type { Carried } from "../../contracts/exposure.ts";
import { trifectaOf } from "../../contracts/trifecta.ts";
import { Evidence } from "../../events/evidence.ts";
import { exposuresIn } from "../../tools/exposure-of.ts";
import { untrustedIn } from "../agent.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { Start } from "./start-delegation.ts";

type Parts = Pick<EngineParts, "store" | "toolbox">;

/** What a new delegation begins with that its own tools did not bring: see `Contract`. */
export function carriedBy(start: Start, hasPromptFiles: boolean): readonly Carried[] {
  const { caller, carries = [], isTold, run, way } = start;
  // It is shown what others read and say.
  if (way === "watch") return both;
  if (caller !== null && (isTold === true || caller.untrusted !== null)) {
    return from(caller.contract, run.parts);
  }
  return carries.length === 0 && hasPromptFiles ? untrusted : carries;
}

/** The same of one that goes on from a stored delegation, whose conversation it begins with. */
export async function carriedFrom(parts: Parts, id: string): Promise<readonly Carried[]> {
  const contract = await parts.store.readContract(id);
  const evidence = new Evidence();
  for await (const event of parts.store.readEvents({ delegationId: id })) evidence.see(event);
  return untrustedIn(contract, evidence) === null ? [] : from(contract, parts);
}

/** Who has read a stranger's words may have been told to pass on whatever it could read. */
function from(contract: Contract, { toolbox }: Pick<Parts, "toolbox">): readonly Carried[] {
  const held = trifectaOf(
    contract,
    exposuresIn((name) => toolbox.get(name)),
  );
  return held.private ? both : untrusted;
}

const untrusted: readonly Carried[] = Object.freeze(["untrusted"]);
const both: readonly Carried[] = Object.freeze(["untrusted", "private"]);
