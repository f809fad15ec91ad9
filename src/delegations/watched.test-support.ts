import type { Script } from "../models/scripted/scripted-model.ts";
import { until } from "../testing/until.ts";

/**
 * The one that is watched waits in every turn after its first one until a `pair` has been asked
 * something since the turn before. So there is always time to look on, on any machine.
 */
export function watched(script: Script, profile = "boss"): Script {
  let asked = 0;
  let before = 0;
  return async (request) => {
    const { caller } = request;
    if (caller.profile === "pair") asked += 1;
    if (caller.profile === profile) {
      if (caller.turn > 1) await until("the watcher is asked", () => asked > before);
      before = asked;
    }
    return script(request);
  };
}
