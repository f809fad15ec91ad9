/** The message of anything that was thrown. Never throws itself. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "a value without a text was thrown";
  }
}

/** Whether an import failed because one of these optional packages is not installed. */
export function isMissingPackage(error: unknown, names: readonly string[]): boolean {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "ERR_MODULE_NOT_FOUND") {
    return false;
  }
  return names.some((name) => error.message.includes(`'${name}'`));
}
