import { CallDenied } from "../ports/call-denied.ts";

/** Which part of the boundary said no; the gate puts it into `agent.tool_denied`. */
export type PathRule =
  | "no_workspace"
  | "path_malformed"
  | "path_outside_workspace"
  | "path_forbidden"
  | "path_link"
  | "path_hard_link"
  | "path_not_regular"
  | "path_changed"
  | "path_protected"
  | "path_outside_write_roots"
  | "path_not_owned"
  | "workspace_read_only";

/** A path that a tool call may not touch: policy, not a fault of the file system. */
export class PathDenied extends CallDenied<PathRule> {
  constructor(rule: PathRule, message: string, options?: ErrorOptions) {
    super(rule, message, options);
    this.name = "PathDenied";
  }
}
