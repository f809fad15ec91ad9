import { type Exposure, noExposure } from "../contracts/exposure.ts";
import type { FindExposure } from "../contracts/trifecta.ts";
import type { Effect, Tool } from "./tool.ts";

/** What a tool declares of itself, over what its effect makes one expect. */
export function exposureOf(tool: Tool): Exposure {
  return tool.exposure ?? expected[tool.effect];
}

export function exposuresIn(find: (name: string) => Tool | undefined): FindExposure {
  return (name) => {
    const tool = find(name);
    return tool && exposureOf(tool);
  };
}

/**
 * Of tools that say nothing: what their effect lets one expect, in doubt the worse. What children bring is told by
 * their results, which carry it upward, and not by the tool that hands these over.
 */
const expected: Readonly<Record<Effect, Exposure>> = {
  read: Object.freeze({ untrusted: true, private: true, wayOut: false }),
  write: noExposure,
  exec: Object.freeze({ untrusted: true, private: "workspace", wayOut: true }),
  network: Object.freeze({ untrusted: true, private: false, wayOut: true }),
  spawn: noExposure,
};

/** What tools bring that read the workspace: the repository is somebody else's, and yours. */
export const ofWorkspace: Exposure = Object.freeze({
  untrusted: true,
  private: "workspace",
  wayOut: false,
});
