import { homedir, tmpdir } from "node:os";
import { delimiter, isAbsolute } from "node:path";
import { agentFolderAround, homeOfUser } from "./agent-folders.ts";
import { programFolders, usualFolders } from "./find-program.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What every program needs to run at all, and nothing that says who we are or what we may do. */
const needed = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

const neededOnWindows = [
  ...["PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP"],
  ...["USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "LANG"],
];

const systemOnWindows = ["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT"];

/** Interpreters do not import from their current directory, also where a server is given one. */
const withoutCurrentDirectory = { PYTHONSAFEPATH: "1", PERL_USE_UNSAFE_INC: "0" };

/** For helpers that need to know nothing about us: no folder of the user, no keys, no settings. */
export function helperEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { PATH: usualFolders.join(delimiter) };
  if (process.platform !== "win32") return kept;
  for (const name of systemOnWindows) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/**
 * For programs that the person chose, such as MCP servers: variables chosen by name, never our own
 * with parts removed, so that a key that we do not know of cannot get through. A folder that an
 * agent can write is none to look programs, settings or temporary files up in.
 */
export function scrubEnvironment(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const kept: Record<string, string> = { ...withoutCurrentDirectory };
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || !isNeeded(name, platform)) continue;
    const safe = safeValue(name.toUpperCase(), value);
    if (safe !== undefined) kept[name] = safe;
  }
  return kept;
}

/** Where the person's own settings lie, unless the environment points into an agent's folder. */
export function personalFolders(environment: Environment = process.env): {
  readonly home: string | undefined;
  readonly configuration: string | undefined;
} {
  const configuration = environment["XDG_CONFIG_HOME"];
  return {
    home: safeValue("HOME", environment["HOME"] ?? "") ?? homedir(),
    configuration: configuration && isOutside(configuration) ? configuration : undefined,
  };
}

/** What a desktop needs to open a browser: BROWSER is left out, since it names a program. */
const ofDesktop = [
  ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"],
  ...["XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_SESSION_DESKTOP", "DESKTOP_SESSION"],
  ...["KDE_FULL_SESSION", "KDE_SESSION_VERSION", "GNOME_DESKTOP_SESSION_ID", "WSL_DISTRO_NAME"],
];

/** For the program that opens a browser. */
export function desktopEnvironment(environment: Environment): Record<string, string> {
  const kept = scrubEnvironment(environment);
  for (const name of ofDesktop) {
    const value = environment[name];
    if (value !== undefined && (!isAbsolute(value) || isOutside(value))) kept[name] = value;
  }
  // Each holds entries that name programs.
  const data = (environment["XDG_DATA_DIRS"] ?? "").split(delimiter).filter(isOutside);
  return data.length === 0 ? kept : { ...kept, XDG_DATA_DIRS: data.join(delimiter) };
}

function safeValue(name: string, value: string): string | undefined {
  if (name === "PATH") return programFolders(value).join(delimiter) || usualFolders.join(delimiter);
  if (name === "HOME") return isOutside(value) ? value : homeOfUser();
  if (name === "TMPDIR") return isOutside(value) ? value : undefined;
  return value;
}

/** For files that no agent may read: the environment can name a folder in the workspace. */
export function temporaryFolder(): string {
  return [tmpdir(), "/tmp", "/var/tmp"].find(isOutside) ?? tmpdir();
}

function isOutside(folder: string): boolean {
  return isAbsolute(folder) && agentFolderAround(folder) === undefined;
}

/** Whether programs get this variable; on Windows names are not told apart by case. */
export function isNeeded(name: string, platform: NodeJS.Platform = process.platform): boolean {
  return platform === "win32"
    ? neededOnWindows.includes(name.toUpperCase())
    : needed.includes(name);
}
