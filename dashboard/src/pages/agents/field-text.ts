/** A value of a profile in one line, as a person would write it. */
export function fieldText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(fieldText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The command that trusts it; a name that a shell could misread is left out, and chosen there. */
export function trustCommand(name: string): string {
  return /^[\w@.-]+$/.test(name) && !name.startsWith("-")
    ? `mandate profiles trust ${name}`
    : "mandate profiles trust";
}
