import type { AuthorityKey } from "./authority-keys.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";

const writingSandboxes = new Set(["workspace-write", "danger-full-access"]);
const writingModes = new Set(["default", "manual", "acceptEdits", "auto"]);
/** What would be asked about is denied: without its list of approvals, only reading is left. */
const strictModes = new Set(["plan", "dontAsk"]);
/** They spare questions, which nothing in a file can do here. */
const sparingModes = new Set(["acceptEdits", "auto"]);
const raisingModes = new Set(["bypassPermissions", "yolo", "auto-approve", "danger-full-access"]);

/**
 * Whether the agent may only look. A value that is not known counts as such: the key is there to
 * take something away. What asks for more than that is given nothing by it.
 */
export function isReadOnly(
  key: AuthorityKey | undefined,
  value: unknown,
  { field, findings, line }: ToolsPlace,
): boolean {
  const word = typeof value === "string" ? value.trim() : value;
  if (typeof word === "string" && raisingModes.has(word)) {
    findings.warn(`"${field}: ${word}" raises nothing here; what may be done is granted`, line);
    return false;
  }
  const isWriting =
    key === "readonly"
      ? word === false || word === "false" || word === "no"
      : typeof word === "string" && (key === "sandbox" ? writingSandboxes : writingModes).has(word);
  if (isWriting) return false;
  const isKnown =
    word === true || word === "read-only" || word === "readOnly" || strictModes.has(String(word));
  if (!isKnown) {
    const said = word === null ? "has no value" : `is "${shorten(String(word))}"`;
    findings.warn(`"${field}" ${said}, which is not known; it is taken as read-only`, line);
  }
  findings.lose(field, "narrowed", "files are only read; the shell is denied, since it can write");
  return true;
}

/** Whether a mode only spares questions: it is kept, without effect. */
export function raisesNothing(value: unknown): boolean {
  return typeof value === "string" && sparingModes.has(value.trim());
}
