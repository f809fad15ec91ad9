import { grepTool } from "./grep-tool.ts";
import { findRipgrep } from "./search/find-ripgrep.ts";

/** The search of this machine: with ripgrep where there is one. */
export const grepFiles = grepTool(findRipgrep);
