/** What an error says. Anything can be thrown, also what has no text: asking must not throw again. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something that cannot be put into words was thrown";
  }
}

/** Whether an import failed because one of these optional packages is not installed. */
export function isMissingPackage(error: unknown, names: readonly string[]): boolean {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "ERR_MODULE_NOT_FOUND") {
    return false;
  }
  return names.some((name) => error.message.includes(`'${name}'`));
}
