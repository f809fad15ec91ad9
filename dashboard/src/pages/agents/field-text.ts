/** A value of a profile in one line, as somebody would write it down. */
export function fieldText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(fieldText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What somebody types to trust it; a name that a shell could misread is left to be chosen there. */
export function trustCommand(name: string): string {
  return /^[\w@.-]+$/.test(name) && !name.startsWith("-")
    ? `mandate profiles trust ${name}`
    : "mandate profiles trust";
}
