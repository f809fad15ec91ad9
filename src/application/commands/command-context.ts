import type { Profile } from "../../agents/profiles/profile.ts";
import type { ControlPlane } from "../../control/records/control-plane.ts";
import type { Principal } from "../../control/records/principal.ts";
import { type CommandPlace, EngineSteering, type SteeredRuntime } from "../engine-steering.ts";
import { type ProfileSummarySources, summarizeProfile } from "../summarize-profile.ts";
import type { CommandContext } from "./command.ts";

/** The part of a runtime that commands use. */
export interface CommandRuntime extends SteeredRuntime, ProfileSummarySources {
  readonly profiles: ProfileSummarySources["profiles"] & { all(): readonly Profile[] };
  readonly control: SteeredRuntime["control"] & { readonly plane: ControlPlane };
}

/** The context of one person's commands in one place, for every surface. */
export function commandContext(
  runtime: CommandRuntime,
  { id: user }: Pick<Principal, "id">,
  place: CommandPlace = {},
): CommandContext {
  const { session, workspace } = place;
  return {
    controlPlane: runtime.control.plane,
    pinContext: { session, user, workspace },
    describeProfile: (id) => summarizeProfile(runtime, id),
    profiles: () => runtime.profiles.all(),
    steering: new EngineSteering(runtime, place),
  };
}
