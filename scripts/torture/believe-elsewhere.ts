import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * As in a container that shares the database's folder: another boot, by all that this process can
 * see, so that whoever worked here before is gone.
 */
export function believeElsewhere(): void {
  fs.readFileSync = new Proxy(fs.readFileSync, {
    apply(read, self, parameters) {
      const [path] = parameters;
      if (path === "/proc/sys/kernel/random/boot_id") return "e15e0000-0000-0000-0000-000000000000";
      return Reflect.apply(read, self, parameters);
    },
  });
  syncBuiltinESMExports();
}
