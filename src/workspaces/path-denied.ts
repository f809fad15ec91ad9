/** Which part of the boundary said no; the gate puts it into `agent.tool_denied`. */
export type PathRule =
  | "no-workspace"
  | "path-malformed"
  | "path-outside-workspace"
  | "path-forbidden"
  | "path-link"
  | "path-hard-link"
  | "path-not-regular"
  | "path-changed"
  | "path-protected"
  | "path-outside-write-roots"
  | "workspace-read-only";

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
