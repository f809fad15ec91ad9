import { useLayoutEffect, useRef } from "react";
import { ValueStore } from "../data/value-store.ts";

/** An action with a key. The list of keys and the palette show it. */
export interface KeyBinding {
  /** `j`, `?`, `g r` (one after the other), `mod+k` (with Control, or Command). */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
}

/** The key bindings of everything on the screen; the latest one wins. */
export const bindings = new ValueStore<readonly KeyBinding[]>([]);

/** Keys for as long as a component is there. */
export function useKeys(given: readonly KeyBinding[]): void {
  const latest = useRef(given);
  latest.current = given;
  const signature = given.map(({ keys, label }) => `${keys} ${label}`).join("\n");
  // Before the paint: as soon as a button is visible, its key works.
  useLayoutEffect(() => {
    if (signature === "") return;
    const added = latest.current.map(({ keys, label }, index) => {
      return { keys, label, run: () => latest.current[index]?.run() };
    });
    bindings.set([...bindings.get(), ...added]);
    return () => bindings.set(bindings.get().filter((one) => !added.includes(one)));
  }, [signature]);
}

const sequenceMs = 1200;
let begun = "";
let begunAt = 0;

export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.altKey || event.repeat) return;
    if (event.ctrlKey || event.metaKey) {
      press(event, `mod+${event.key.toLowerCase()}`);
      return;
    }
    if (isTyping(event.target) || document.querySelector("dialog[open], #page[inert]") !== null)
      return;
    const isRecent = performance.now() - begunAt < sequenceMs;
    const keys = isRecent && begun !== "" ? `${begun} ${event.key}` : event.key;
    begun = "";
    if (press(event, keys)) return;
    if (bindings.get().some((one) => one.keys.startsWith(`${event.key} `))) {
      begun = event.key;
      begunAt = performance.now();
    }
  });
}

function press(event: KeyboardEvent, keys: string): boolean {
  const binding = bindings.get().findLast((one) => one.keys === keys);
  if (binding === undefined) return false;
  event.preventDefault();
  binding.run();
  return true;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select") !== null;
}

/** Keys as they are written on this machine's keyboard. */
export function shownKeys(keys: string): readonly string[] {
  const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
  return keys.split(/ |\+/).map((key) => (key === "mod" ? (isMac ? "⌘" : "Ctrl") : key));
}
