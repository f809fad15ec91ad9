import { execFileSync } from "node:child_process";

/** Git as a person would run it here, whoever that is. */
export function git(folder: string, ...args: readonly string[]): void {
  const identity = [
    "-c",
    "user.name=P",
    "-c",
    "user.email=p@example.org",
    "-c",
    "init.defaultBranch=main",
  ];
  execFileSync("git", [...identity, ...args], {
    ...{ cwd: folder, stdio: "ignore" },
    env: {
      PATH: process.env["PATH"] ?? "",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      HOME: folder,
    },
  });
}
