import type { Contract } from "./contract.ts";

/** What a child is told besides its task: what its profile always says, and what this caller says. */
export function contextFor(
  opening: string | undefined,
  context: string | undefined,
): string | null {
  const said = context?.trim() === "" ? undefined : context;
  if (opening === undefined) return said ?? null;
  return said === undefined ? opening : `${opening}\n\n${said}`;
}

/** The child's first message: its context and its task, and nothing of its caller's conversation. */
export function openingOf({ step }: Pick<Contract, "step">): string {
  const criteria = step.success_criteria.map((criterion) => `- ${criterion}`).join("\n");
  return [
    step.context === null ? "" : `Context:\n${step.context}`,
    `Task:\n${step.description}`,
    criteria === "" ? "" : `Success criteria:\n${criteria}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
