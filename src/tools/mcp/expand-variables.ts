import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

export interface VariableSource {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workspace: string | null;
  /** Told of every value that came out of the environment, so that it can be kept out of texts. */
  onUse?(name: string, value: string): void;
}

const environmentForm = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const folderName = "workspaceFolder";

/**
 * Puts values in place of `${NAME}`, `${env:NAME}`, `${NAME:-default}` and `${workspaceFolder}`.
 * One pass: a value that itself looks like a variable stays as it is. What has no value is an
 * error, since an empty key or path means something else to most servers.
 */
export function expandVariables(text: string, field: string, source: VariableSource): string {
  let expanded = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf("${", at);
    if (start < 0) return expanded + text.slice(at);
    const end = text.indexOf("}", start);
    const inner = end < 0 ? text.slice(start + 2) : text.slice(start + 2, end);
    if (end < 0 || inner.includes("${")) {
      throw problem(field, "holds a variable that is not closed or stands inside another one.");
    }
    expanded += text.slice(at, start) + readVariable(inner, field, source);
    at = end + 1;
  }
}

function readVariable(inner: string, field: string, source: VariableSource): string {
  if (inner === folderName) {
    if (source.workspace !== null) return source.workspace;
    throw problem(field, `uses \${${folderName}}, and this delegation has no workspace.`);
  }
  const [, name, fallback] = environmentForm.exec(inner) ?? [];
  if (name === undefined) {
    const shown = headOf(inner, 80);
    throw problem(field, `uses \${${shown}}, which is not known here. Use \${NAME} of a variable.`);
  }
  const value = Object.hasOwn(source.environment, name) ? source.environment[name] : undefined;
  // As in a shell: set to nothing counts as not set.
  if (value !== undefined && value !== "") {
    source.onUse?.(name, value);
    return value;
  }
  if (fallback !== undefined) return fallback;
  throw problem(
    field,
    `uses \${${name}}, which is not set. Set it, or write \${${name}:-…} with a default.`,
  );
}

function problem(field: string, says: string): MandateError {
  return new MandateError("config-invalid", `Its ${field} ${says}`);
}
