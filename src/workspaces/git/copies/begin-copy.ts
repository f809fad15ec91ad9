import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { identifyThisProcess } from "../process-identity.ts";
import { layoutOf } from "./copy-layout.ts";

/**
 * Makes the runtime's own folder of a new copy, with its holder in it from the first moment on:
 * what nobody holds is swept away by any process that starts.
 */
export function beginCopy(home: string, id: string): void {
  const { holder, own } = layoutOf(home, id);
  const me = identifyThisProcess();
  const making = `${own}.making.${me}`;
  mkdirSync(making, { recursive: true, mode: 0o700 });
  writeFileSync(join(making, basename(holder)), me, { mode: 0o600 });
  renameSync(making, own);
}
