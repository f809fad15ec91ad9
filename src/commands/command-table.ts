import { applyYaml } from "./agents/apply-yaml.ts";
import { exportYaml } from "./agents/export-yaml.ts";
import { agents, listAgents } from "./agents/list.ts";
import { pinAgent } from "./agents/pin.ts";
import { showPins } from "./agents/pins.ts";
import { registerAgent } from "./agents/register.ts";
import { setDescription } from "./agents/set-description.ts";
import { setServers, setSkills } from "./agents/set-lists.ts";
import { setProfile } from "./agents/set-profile.ts";
import { setTags } from "./agents/set-tags.ts";
import { showAgent } from "./agents/show.ts";
import { unpinAgent } from "./agents/unpin.ts";
import { unregisterAgent } from "./agents/unregister.ts";
import type { AnyCommand } from "./command.ts";

/** Every command of every surface. A new one is a file and a line here. */
export const commandTable: readonly AnyCommand[] = [
  agents,
  listAgents,
  showAgent,
  registerAgent,
  unregisterAgent,
  setDescription,
  setProfile,
  setSkills,
  setServers,
  setTags,
  pinAgent,
  unpinAgent,
  showPins,
  exportYaml,
  applyYaml,
];
