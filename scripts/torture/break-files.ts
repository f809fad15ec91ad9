import fs from "node:fs";
import promises, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import type { FileFault } from "./job.ts";

const direct = ["writeFileSync", "appendFileSync", "mkdirSync", "renameSync", "fsyncSync"] as const;
const later = ["writeFile", "appendFile", "mkdir", "rename", "copyFile", "symlink"] as const;
const ofHandles = ["write", "writeFile", "appendFile", "sync", "datasync"] as const;

/**
 * Counts what this process does to files itself (artifacts, reports, what tools write, copies and
 * merges; not the database, which is written below JavaScript) and has some of it fail.
 */
export async function breakFiles(fault: FileFault | undefined): Promise<() => number> {
  let count = 0;
  const pass = (name: string): void => {
    count += 1;
    if (fault === undefined || count < fault.at) return;
    if (fault.count !== null && count >= fault.at + fault.count) return;
    if (fault.error === "kill") process.kill(process.pid, "SIGKILL");
    throw Object.assign(new Error(`${fault.error}: injected, ${name}`), { code: fault.error });
  };
  wrap(fs, direct, pass);
  // The pipe to the driver is no file, and has a number that no file gets.
  fs.writeSync = new Proxy(fs.writeSync, {
    apply(write, self, parameters) {
      if (Number(parameters[0]) > 3) pass("writeSync");
      return Reflect.apply(write, self, parameters);
    },
  });
  wrap(promises, later, pass, true);
  const handle = await promises.open("/dev/null", "w");
  wrap(Object.getPrototypeOf(handle) as FileHandle, ofHandles, pass, true);
  await handle.close();
  syncBuiltinESMExports();
  return () => count;
}

function wrap<Name extends string>(
  target: { [Key in Name]: unknown },
  names: readonly Name[],
  pass: (name: string) => void,
  isLater = false,
): void {
  for (const name of names) {
    const original = target[name] as (...parameters: unknown[]) => unknown;
    target[name] = function (this: unknown, ...parameters: unknown[]): unknown {
      if (!isLater) {
        pass(name);
        return Reflect.apply(original, this, parameters);
      }
      return new Promise((resolve, reject) => {
        try {
          pass(name);
          resolve(Reflect.apply(original, this, parameters));
        } catch (error) {
          reject(error);
        }
      });
    };
  }
}
