import { ValueStore } from "../data/value-store.ts";

export type Theme = "system" | "light" | "dark";

const place = "mandate-theme";

export const theme = new ValueStore<Theme>(readTheme());

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(place);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.get();
}

/** Light, dark, and back to what the machine says. */
export function switchTheme(): void {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order: readonly Theme[] = isDark
    ? ["system", "light", "dark"]
    : ["system", "dark", "light"];
  const next = order[(order.indexOf(theme.get()) + 1) % order.length] ?? "system";
  theme.set(next);
  applyTheme();
  try {
    localStorage.setItem(place, next);
  } catch {
    // A browser that keeps nothing forgets it, and that is all.
  }
}
