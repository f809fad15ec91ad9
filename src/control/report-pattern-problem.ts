import { ownReportFolder, reportPath, reportPlaceholders } from "../contracts/contract.ts";
import { protectionOf } from "../workspaces/protected/protection.ts";

const longest = 300;

/**
 * The error in a pattern for report paths; undefined: none. A model writes reports, so the path is
 * a Markdown file below the workspace, and none that a program reads as instructions.
 */
export function reportPatternProblem(pattern: string): string | undefined {
  if (pattern.length > longest) return `must have at most ${longest} characters`;
  const unknown = pattern.match(/<[^<>]*>/g)?.find((one) => !reportPlaceholders.includes(one));
  if (unknown !== undefined)
    return `has the placeholder ${unknown}; there are ${reportPlaceholders.join(", ")}`;
  if (!/<idx>|<id>/.test(pattern))
    return "must hold <idx> or <id>: otherwise all children would share one file";
  const path = reportPath(pattern, { run: "r0", id: "a0", idx: "0" });
  if (/[\p{Cc}\p{Cf}\\<>:"|?*]/u.test(path) || !path.isWellFormed())
    return "holds characters that no file name should have";
  const names = path.split("/");
  if (path.startsWith("~") || names.some((name) => /^(?:\.{0,2}|.*[ .])$/.test(name)))
    return "must be a relative path below the workspace, without ..";
  if (!path.toLowerCase().endsWith(".md")) return "must end with .md: reports are Markdown";
  if (path.startsWith(ownReportFolder)) return undefined;
  if (/^(?:profiles|skills)\//i.test(path))
    return `leads to ${names[0]}, which Mandate reads at its next start`;
  const protection = protectionOf("/", path);
  return (
    protection && `leads to ${protection.rule}, which agents cannot write: ${protection.reason}`
  );
}
