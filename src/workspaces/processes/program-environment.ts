import { homedir, tmpdir } from "node:os";
import { delimiter, isAbsolute } from "node:path";
import { agentFolderAround, homeOfUser } from "./agent-folders.ts";
import { programFolders, usualFolders } from "./find-program.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What every program needs, and nothing that identifies the person or holds rights. */
const needed = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

const neededOnWindows = [
  ...["PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP"],
  ...["USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "LANG"],
];

const systemOnWindows = ["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT"];

/** Interpreters must not import from the current directory, even if a server is given one. */
const withoutCurrentDirectory = { PYTHONSAFEPATH: "1", PERL_USE_UNSAFE_INC: "0" };

/** For helpers that need nothing of the person: no folders, no keys, no settings. */
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
 * For programs that the person chose, such as MCP servers. Variables are selected by name instead
 * of removing known secrets, so that an unknown key cannot pass. Folders that an agent can write
 * are not passed as places for programs, settings or temporary files.
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

/** The person's settings folders, unless the environment points into an agent's folder. */
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

/** What opening a browser needs. BROWSER is omitted, since it names a program. */
const ofDesktop = [
  ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"],
  ...["XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_SESSION_DESKTOP", "DESKTOP_SESSION"],
  ...["KDE_FULL_SESSION", "KDE_SESSION_VERSION", "GNOME_DESKTOP_SESSION_ID", "WSL_DISTRO_NAME"],
];

/** The environment of the program that opens a browser. */
export function desktopEnvironment(environment: Environment): Record<string, string> {
  const kept = scrubEnvironment(environment);
  for (const name of ofDesktop) {
    const value = environment[name];
    if (value !== undefined && (!isAbsolute(value) || isOutside(value))) kept[name] = value;
  }
  // Each entry of XDG_DATA_DIRS can name programs.
  const data = (environment["XDG_DATA_DIRS"] ?? "").split(delimiter).filter(isOutside);
  return data.length === 0 ? kept : { ...kept, XDG_DATA_DIRS: data.join(delimiter) };
}

function safeValue(name: string, value: string): string | undefined {
  if (name === "PATH") return programFolders(value).join(delimiter) || usualFolders.join(delimiter);
  if (name === "HOME") return isOutside(value) ? value : homeOfUser();
  if (name === "TMPDIR") return isOutside(value) ? value : undefined;
  return value;
}

/** For files that no agent may read: the environment could name a folder in the workspace. */
export function temporaryFolder(): string {
  return [tmpdir(), "/tmp", "/var/tmp"].find(isOutside) ?? tmpdir();
}

function isOutside(folder: string): boolean {
  return isAbsolute(folder) && agentFolderAround(folder) === undefined;
}

/** Whether programs get this variable. Names on Windows ignore case. */
export function isNeeded(name: string, platform: NodeJS.Platform = process.platform): boolean {
  return platform === "win32"
    ? neededOnWindows.includes(name.toUpperCase())
    : needed.includes(name);
}
