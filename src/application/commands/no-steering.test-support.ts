import type { Steering } from "../steering.ts";

/** For tests of commands that have nothing to do with runs: whoever tries it fails. */
export const noSteering = new Proxy({} as Steering, {
  get(_target, name) {
    throw new Error(`there is nothing to steer here: ${String(name)}`);
  },
});
