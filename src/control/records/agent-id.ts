import { nameCharacter, quote } from "./shown-text.ts";

const agentId = /^@[a-z0-9_-]{2,32}$/;

/**
 * What is wrong with a handle; undefined when nothing is. Letters that merely look like the allowed
 * ones are named by their code points, since people cannot tell them apart.
 */
export function agentIdProblem(text: string): string | undefined {
  if (agentId.test(text)) return undefined;
  const rule = 'must be "@" and 2 to 32 of a-z, 0-9, _ and -';
  if (!text.startsWith("@")) return `${quote(text)} ${rule}`;
  const [stranger] = /[^a-z0-9_-]/u.exec(text.slice(1)) ?? [];
  if (stranger === undefined) return `${quote(text)} ${rule}`;
  return `${quote(text)} ${rule}; ${nameCharacter(stranger)} is none of them`;
}
