import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import type { ToolContext } from "../tool.ts";

/** The target of a call, by the name it was given and by the profile behind it. */
export function delegateAbout(name: string, { delegator }: ToolContext): CallSubjects {
  const behind = delegator.profileBehind(name);
  return { kind: "text", values: [...new Set([name, ...(behind === undefined ? [] : [behind])])] };
}
