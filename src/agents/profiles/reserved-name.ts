import { externalProfile } from "../../contracts/contract.ts";

export const howReserved = `"${externalProfile}", which is reserved for agents that other programs run`;

/** Why no profile can have this name, in one sentence; undefined: one can. */
export function reservedName(name: string): string | undefined {
  if (name !== externalProfile) return undefined;
  return `A profile cannot be called ${howReserved}. Choose another name.`;
}
