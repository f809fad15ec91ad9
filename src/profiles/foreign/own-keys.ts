import { isRecord } from "./plain-data.ts";

/** Keys that no other program has. */
const unmistakable = new Set([
  ...["toolRules", "mayDelegate", "maxTokenBudget", "onParentInterrupt"],
  ...["bootstrapFiles", "bootstrap_files", "systemPromptFile", "system_prompt_file"],
]);

const capabilities = ["primary", "subtask", "watcher", "orchestrator"];
const limits = ["tokens", "cost", "timeoutMs", "depth", "retries", "turns", "joinTokens"];
const workspace = ["isolation", "folder", "allowWrites", "writeRoots", "checks", "approval"];
const model = [
  ...["model", "pool", "fallbacks", "allow", "contextWindow", "maxOutputTokens"],
  ...["temperature", "topP", "effort"],
];

/** Words that others use as well: ours are told by what stands below them. */
const byShape: Readonly<Record<string, (value: unknown) => boolean>> = {
  capabilities: (value) => isListOf(value, (item) => capabilities.includes(item)),
  limits: (value) => isMapOf(value, limits),
  workspace: (value) => isMapOf(value, workspace),
  exit: (value) => isMapOf(value, ["tools", "outputSchema", "evidence", "review"]),
  triggers: (value) => isMapOf(value, ["slash", "hotkeys"]),
  model: (value) => isMapOf(value, model),
  servers: (value) => isRecord(value) && Object.values(value).some(isOwnServer),
  scopes: isSelection,
  network: isSelection,
  opening: (value) => typeof value === "string",
};

/** Whether a file is one of ours, wherever it lies: it says what only our files say. */
export function hasOwnKeys(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).some(
    ([key, value]) =>
      unmistakable.has(key) || (Object.hasOwn(byShape, key) && byShape[key]?.(value) === true),
  );
}

function isListOf(value: unknown, test: (item: string) => boolean): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((item) => typeof item === "string" && test(item));
}

function isMapOf(value: unknown, keys: readonly string[]): boolean {
  if (!isRecord(value)) return false;
  const own = Object.keys(value);
  return own.length > 0 && own.every((key) => keys.includes(key));
}

function isSelection(value: unknown): boolean {
  return value === "*" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isOwnServer(server: unknown): boolean {
  return isRecord(server) && (server["kind"] === "stdio" || server["kind"] === "http");
}
