const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** For texts from files and people inside the tags that a model is shown: none can close its tag. */
export function escapeXml(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, " ").replaceAll(/[&<>"']/g, (each) => entities[each] ?? each);
}
