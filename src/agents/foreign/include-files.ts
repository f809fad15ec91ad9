import type { ForeignAgent } from "./foreign-agent.ts";
import { readText } from "./import-agent.ts";

/** A prompt with the files that it names in place of `{file:…}`, or as a whole by `file://`. */
export function includeFiles(value: unknown, agent: ForeignAgent): string {
  const text = readText(value) ?? "";
  const whole = /^file:\/\/(\S+)$/.exec(text)?.[1];
  if (whole !== undefined) return agent.include(whole) ?? "";
  return text.replaceAll(
    /\{file:([^{}\n]+)\}/g,
    (_, path: string) => agent.include(path.trim()) ?? "",
  );
}
