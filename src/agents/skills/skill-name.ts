const maximumLength = 128;

/**
 * The one name of a skill, however it was written: `skill:writing_helpers` and `writing_helpers`
 * are the same, `Code Review` is `code-review`. Letters of every script stay. Empty when nothing is
 * left, and no skill has that name.
 */
export function skillName(id: string): string {
  const bare = id.trim().replace(/^skill:/i, "");
  const slug = bare
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
  return [...slug].slice(0, maximumLength).join("");
}
