import { randomBytes } from "node:crypto";

/** A name for new content until it replaces the old. No tool shows or takes files with such a name. */
export function temporaryName(): string {
  return `.mandate-${randomBytes(8).toString("hex")}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return name.length === 29 && /^\.mandate-[0-9a-f]{16}\.tmp$/i.test(name);
}
