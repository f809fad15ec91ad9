import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "../processes/find-program.ts";
import type { Sandbox, SandboxPolicy } from "./sandbox.ts";

/**
 * The sandbox of macOS. Its profile says which files are read and written; there is no network, no
 * process namespace, and no limit on memory. The CI job for macOS exercises it; it is offered only to
 * a person who asks for it (MANDATE_SEATBELT=1), since it has not stood the attempts of the other one.
 */
export function createSeatbelt(program: Program, programFolders: readonly string[]): Sandbox {
  return {
    name: "Seatbelt (not verified)",
    hasNamespaces: false,
    placesOf: (scratch) => ({ home: join(scratch, "home"), temporary: join(scratch, "tmp") }),
    wrap: (policy, argv, cwd) => ({
      program,
      // Seatbelt has no option for the folder to start in.
      args: [
        ...["-p", seatbeltProfile(policy, programFolders)],
        ...["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd, ...argv],
      ],
      placeholders: [],
    }),
  };
}

/** Programs and libraries; no data of people. */
const system = [
  ...["/bin", "/sbin", "/usr", "/System", "/Library/Apple", "/Library/Frameworks", "/opt/homebrew"],
  ...["/Library/Developer", "/Applications/Xcode.app", "/private/var/db/timezone"],
  ...["/private/var/db/dyld", "/private/var/select", "/private/etc/ssl"],
];
const settings = ["/", "/private/etc/hosts", "/private/etc/passwd", "/private/etc/services"];

/** A later rule wins over an earlier one. What no rule allows is denied. */
export function seatbeltProfile(policy: SandboxPolicy, programFolders: readonly string[]): string {
  const { allowWrites, forbidden, guarded, isThrowaway, ownsGit, root, scratch, visible } = policy;
  const read = [...system, ...programFolders, ...visible, root, scratch].map(realPathOf);
  const written = [scratch, ...(allowWrites ? policy.writeRoots : [])].map(realPathOf);
  const closed = isThrowaway ? [] : [...guarded, ...(ownsGit ? [] : [join(root, ".git")])];
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow file-read-metadata)",
    rule("allow file-read*", "literal", [...settings, "/dev/urandom", "/dev/random"]),
    rule("allow file-read* file-write*", "literal", ["/dev/null", "/dev/zero", "/dev/tty"]),
    rule("allow file-read*", "subpath", read),
    rule("allow file-write*", "subpath", written),
    rule("deny file-write*", "subpath", closed.map(realPathOf)),
    rule("deny file-read* file-write*", "subpath", forbidden.map(realPathOf)),
    "(deny network*)",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function rule(operation: string, filter: "subpath" | "literal", places: readonly string[]): string {
  if (places.length === 0) return "";
  const filters = [...new Set(places)].map((place) => `(${filter} ${quoted(place)})`);
  return `(${operation} ${filters.join(" ")})`;
}

/** A path can hold any character but NUL; a quote must not end the text. */
function quoted(place: string): string {
  return `"${place.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** The system compares real paths: /tmp is a link there. */
function realPathOf(place: string): string {
  return existsSync(place) ? realpathSync(place) : place;
}
