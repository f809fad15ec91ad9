import type { Exposure } from "../contracts/exposure.ts";
import type { FindExposure } from "../contracts/trifecta.ts";
import type { Tool } from "./tool.ts";

export function exposuresIn(find: (name: string) => Tool | undefined): FindExposure {
  return (name) => find(name)?.exposure;
}

/** What tools bring that read the workspace: the repository is untrusted, and private. */
export const ofWorkspace: Exposure = Object.freeze({
  untrusted: true,
  private: "workspace",
  wayOut: false,
});
