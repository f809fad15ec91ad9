import type { Io } from "../io.ts";

/** Whether a browser may be opened unasked: somebody sits here, at a screen. `BROWSER=none`: no. */
export function hasBrowser(
  { environment, stdout }: Pick<Io, "environment" | "stdout">,
  platform: NodeJS.Platform = process.platform,
): boolean {
  const isElsewhere = environment["CI"] || environment["SSH_CONNECTION"] || environment["SSH_TTY"];
  if (!stdout.isTerminal || isElsewhere || environment["BROWSER"] === "none") return false;
  if (platform === "darwin" || platform === "win32") return true;
  return Boolean(environment["DISPLAY"] || environment["WAYLAND_DISPLAY"]);
}
