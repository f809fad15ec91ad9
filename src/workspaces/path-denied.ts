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
  | "workspace_read_only";

/**
 * A path that a tool call may not touch. Policy, not a fault of the file system: the gate turns it
 * into a denial that the model reads, so the message is a sentence that says what to do instead.
 */
export class PathDenied extends Error {
  readonly rule: PathRule;

  constructor(rule: PathRule, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PathDenied";
    this.rule = rule;
  }
}
