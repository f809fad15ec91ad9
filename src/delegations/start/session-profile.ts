import { externalProfile, externalProvider } from "../../contracts/contract.ts";
import type { Profile } from "../../profiles/profile.ts";

/** Who another program's agent is to us: somebody who may delegate, and has no other tools of ours. */
export function sessionProfile(client: string): Profile {
  return {
    name: externalProfile,
    description: `An agent of ${client}`,
    capabilities: ["primary"],
    prompt: "",
    model: { model: `${externalProvider}/${client}` },
    limits: { retries: 0 },
    origin: "session",
  };
}
