import { programFolders, usualFolders } from "../../processes/program-folders.ts";
import { homeInside } from "./sandbox.ts";
import type { ProgramPlaces } from "./visible-folders.ts";

/**
 * The environment of one command, made anew each time: nothing that an earlier command set, and of
 * ours only what names no person's secrets. Chosen by name; a key nobody thought of stays out.
 */
export function freshEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  places: ProgramPlaces,
  { home, temporary } = { home: homeInside, temporary: "/tmp" },
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ["LANG", "LC_ALL", "LC_CTYPE", "TZ"]) {
    const value = ours[name];
    if (value !== undefined && /^[\w.@:/+-]{1,64}$/.test(value)) kept[name] = value;
  }
  return {
    ...kept,
    ...places.variables,
    // By the rule for our own helpers: a tool rule that allows "git" means the operator's git, not
    // one that an agent or a repository brought.
    PATH: pathOf(places).join(":"),
    HOME: home,
    USER: "agent",
    LOGNAME: "agent",
    SHELL: "/bin/sh",
    TERM: "dumb",
    TMPDIR: temporary,
    ...gitSettings,
  };
}

function pathOf({ path }: ProgramPlaces): readonly string[] {
  const folders = programFolders(path.join(":"));
  return folders.length === 0 ? usualFolders : folders;
}

/** A repository is trusted by where it lies, not by who owns it: owners look different inside. */
const gitSettings: Readonly<Record<string, string>> = Object.freeze({
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
  // A folder that looks like a repository is not one until somebody says so: its settings run
  // programs.
  GIT_CONFIG_KEY_1: "safe.bareRepository",
  GIT_CONFIG_VALUE_1: "explicit",
  GIT_TERMINAL_PROMPT: "0",
});
