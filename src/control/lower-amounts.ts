import { defaultConfig } from "./config.ts";
import {
  type FoundSettings,
  type SettingPath,
  type SettingsTree,
  settingAt,
} from "./settings-tree.ts";

const delegation = ["agents", "delegation"];

/** What a run can cost and how long it can take; at most the default where the user says nothing. */
const bounds: readonly SettingPath[] = [
  [...delegation, "maxDepth"],
  [...delegation, "tokenBudget", "max"],
  ...within("limits", ["runTokens", "maxChildren", "joinTokens"]),
  ...within("deadlines", ["firstTokenMs", "stallMs", "toolMs", "idleMs"]),
  ...within("retry", ["maxAttempts", "initialDelayMs", "maxDelayMs"]),
];

/** What stays within those bounds, whichever layer sets it: at most what the user says, if anything. */
const amounts: readonly SettingPath[] = [
  [...delegation, "defaultTimeout"],
  [...delegation, "maxConcurrent"],
  ...within("execution", ["attemptTimeoutMs", "maxRetries"]),
  ["ask", "deadlineMs"],
];

export function lowerAmounts(found: FoundSettings, user: SettingsTree): void {
  const usual = defaultConfig as unknown as SettingsTree;
  const mostOf = (path: SettingPath) => settingAt(user, path) ?? settingAt(usual, path);
  for (const path of bounds) found.lower(path, mostOf(path));
  for (const path of amounts) found.lower(path, settingAt(user, path));
  // A default over what is left of the maximum would be a mistake of this code.
  const budget = [...delegation, "tokenBudget"];
  const own = settingAt(user, [...budget, "default"]);
  found.lower([...budget, "default"], own ?? mostOf([...budget, "max"]));
}

function within(group: string, names: readonly string[]): readonly SettingPath[] {
  return names.map((name) => [group, name]);
}
