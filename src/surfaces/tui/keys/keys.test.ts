import { expect, test } from "vitest";
import { actionOf, keyTable, usableHotkeys } from "./keys.ts";

test("No key means two things", () => {
  const keys = keyTable.flatMap((row) => row.keys);
  expect(new Set(keys).size).toBe(keys.length);
});

test("Ctrl+Shift and a letter can be had as Alt and the letter too", () => {
  const hotkey = { keys: "ctrl+shift+p", profile: "pair", command: "/pair", needsText: false };
  expect(usableHotkeys([hotkey])[0]?.chords).toEqual(["ctrl+shift+p", "alt+p"]);
});

test("A profile cannot take a key that the chat has, nor one that another profile has", () => {
  const hotkey = { profile: "x", command: "/x", needsText: false };
  const usable = usableHotkeys([
    { ...hotkey, keys: "ctrl+t" },
    { ...hotkey, keys: "ctrl+shift+b" },
    { ...hotkey, keys: "alt+q" },
    { ...hotkey, keys: "alt+q", profile: "y" },
    { ...hotkey, keys: "f5" },
  ]);
  expect(usable.map(({ chords, profile }) => [profile, chords])).toEqual([
    ["x", ["ctrl+shift+b"]],
    ["x", ["alt+q"]],
  ]);
  expect(actionOf("ctrl+t")).toBe("tree");
});
