/** What every program needs to run at all, and nothing that says who we are or what we may do. */
const needed = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

const neededOnWindows = [
  ...["PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP"],
  ...["USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "LANG"],
];

/**
 * The environment a server starts with: chosen by name, never our own with parts removed, so that
 * a key nobody thought of cannot get through.
 */
export function scrubEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || !isNeeded(name, platform)) continue;
    kept[name] = value;
  }
  return kept;
}

/** Names of variables are not told apart by case on Windows. */
export function isNeeded(name: string, platform: NodeJS.Platform = process.platform): boolean {
  return platform === "win32"
    ? neededOnWindows.includes(name.toUpperCase())
    : needed.includes(name);
}
