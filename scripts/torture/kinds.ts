import { clockJumps } from "./clock-kind.ts";
import { diskFaults, fileFaults } from "./disk-kind.ts";
import { commitKills, randomKills } from "./kill-kinds.ts";
import type { Kind } from "./kind.ts";
import { cutLines, serverRestarts } from "./line-kinds.ts";
import { zombies } from "./zombie-kind.ts";

/** In the order in which they are played. */
export const kinds: readonly Kind[] = [
  randomKills,
  commitKills,
  diskFaults,
  fileFaults,
  zombies,
  clockJumps,
  cutLines,
  serverRestarts,
];
