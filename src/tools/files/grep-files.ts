import type { Clock } from "../../ports/clock.ts";
import type { Tool } from "../tool.ts";
import { grepTool } from "./grep-tool.ts";
import { findRipgrep } from "./search/find-ripgrep.ts";

/** The search of this machine: with ripgrep where there is one. */
export function createGrepFiles(clock?: Clock): Tool {
  return grepTool(findRipgrep, clock);
}
