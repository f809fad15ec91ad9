import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { MandateError } from "../ports/mandate-error.ts";
import { reasonOf } from "../ports/message-of.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The paths of Mandate on this machine. */
interface Places {
  /** MANDATE_HOME, outside every workspace, so that no child can access its own contract or log. */
  readonly home: string;
  readonly database: string;
  readonly artifacts: string;
  readonly worktrees: string;
  readonly tokens: string;
  /** The user's configuration; a project's configuration is merged over it. */
  readonly userConfig: string;
  readonly userAgents: string;
  readonly userSkills: string;
  /** The paths that no workspace may read or write, even one that contains them. */
  readonly forbidden: readonly string[];
}

/** The home folder in the environment, else the system's. */
export function userHomeOf(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): string {
  return absolute(environment[platform === "win32" ? "USERPROFILE" : "HOME"]) ?? homedir();
}

/** Pure: no file is created or read. */
export function findPlaces(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
  userHome: string = userHomeOf(environment, platform),
): Places {
  const configured = environment["MANDATE_HOME"];
  const home = configured ? resolve(configured) : join(dataFolder(), "mandate");
  const config = join(configFolder(), "mandate");
  return {
    home,
    database: join(home, "mandate.db"),
    artifacts: join(home, "artifacts"),
    worktrees: join(home, "worktrees"),
    tokens: join(home, "tokens"),
    userConfig: join(config, "config.yaml"),
    userAgents: join(config, "agents"),
    userSkills: join(config, "skills"),
    forbidden: [home, config],
  };

  function dataFolder(): string {
    const standard = absolute(environment["XDG_DATA_HOME"]);
    if (standard !== undefined) return standard;
    if (platform === "darwin") return join(userHome, "Library", "Application Support");
    if (platform !== "win32") return join(userHome, ".local", "share");
    return environment["LOCALAPPDATA"] || join(userHome, "AppData", "Local");
  }

  function configFolder(): string {
    const standard = absolute(environment["XDG_CONFIG_HOME"]);
    if (standard !== undefined) return standard;
    if (platform !== "win32") return join(userHome, ".config");
    return environment["APPDATA"] || join(userHome, "AppData", "Roaming");
  }
}

/** By the XDG specification, a relative value counts as unset. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

/** Creates the home and its folders, private to this user. Existing folders are kept. */
export function createHome(places: Places): void {
  try {
    for (const folder of [places.home, places.artifacts, places.worktrees]) {
      makeFolders(folder);
    }
    accessSync(dirname(places.database), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new MandateError(
      "database-unusable",
      `Mandate cannot keep its data in "${places.home}": ${reasonOf(cause)}. Make the folder writable, or ` +
        "set MANDATE_HOME to another one.",
      { cause },
    );
  }
}

/**
 * Written by hand: `recursive` never returns where a folder exists and cannot hold another, as in
 * /proc.
 */
function makeFolders(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeFolders(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** A path of Mandate's own data that other users of this machine can access. */
export interface ExposedPath {
  readonly path: string;
  /** Octal: "0755". */
  readonly mode: string;
  /** The command that removes the access. */
  readonly fix: string;
}

/**
 * The home, if group or others have any access, and what they can access in it. New homes are
 * private to their user; the mode of an existing one is only reported.
 */
export function exposedPaths({
  home,
  tokens,
}: Pick<Places, "home" | "tokens">): readonly ExposedPath[] {
  if (process.platform === "win32") return [];
  const outer = exposureOf(home);
  if (outer === undefined) return [];
  const inside = [...entriesOf(home), ...entriesOf(tokens)].flatMap(
    (path) => exposureOf(path) ?? [],
  );
  return [outer, ...inside];
}

function exposureOf(path: string): ExposedPath | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o077) === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  const fix = `chmod ${stats.isDirectory() ? "700" : "600"} ${JSON.stringify(path)}`;
  return { path, mode, fix };
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // The folder is missing or unreadable.
    return [];
  }
}
