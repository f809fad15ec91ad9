import { MandateError } from "../../ports/mandate-error.ts";
import { knownNames, type Unresolved } from "../start/resolve-profile.ts";

/** A run that was refused has no log to hold the refusal: whoever asked for it is told. */
export function refusal({
  code = "refused-by-policy",
  hint,
  known,
  reason,
  rule,
}: Unresolved): MandateError {
  if (rule === "task")
    return new MandateError("task-required", "A run needs a task: say what is to be done.");
  const plain = `${reason.replace(/^unknown/, "There is no")}.`;
  const sentence = hint === undefined ? `${plain}${knownNames(known)}` : `${plain} ${hint}`;
  if (rule === "profile") return new MandateError("unknown-profile", sentence);
  if (rule === "agent") return new MandateError("unknown-agent", sentence);
  return new MandateError(code, reason);
}
