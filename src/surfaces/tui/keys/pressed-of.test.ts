import type { Key } from "ink";
import { expect, test } from "vitest";
import { pressedOf } from "./keys.ts";

const nothing: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

test("Keys have one name each, with their modifiers in a fixed order", () => {
  expect(pressedOf("t", { ...nothing, ctrl: true })).toEqual([{ type: "key", chord: "ctrl+t" }]);
  expect(pressedOf("p", { ...nothing, ctrl: true, shift: true })).toEqual([
    { type: "key", chord: "ctrl+shift+p" },
  ]);
  expect(pressedOf("p", { ...nothing, meta: true })).toEqual([{ type: "key", chord: "alt+p" }]);
  expect(pressedOf("", { ...nothing, return: true, meta: true })).toEqual([
    { type: "key", chord: "alt+enter" },
  ]);
  expect(pressedOf("", { ...nothing, escape: true, meta: true })).toEqual([
    { type: "key", chord: "escape" },
  ]);
});

test("What a slow line delivers at once is typed, and sent by the line end after it", () => {
  expect(pressedOf("hello\r", nothing)).toEqual([
    { type: "text", text: "hello" },
    { type: "key", chord: "enter" },
  ]);
});

test("Line ends between letters are a paste that nobody marked", () => {
  expect(pressedOf("one\rtwo\r", nothing)).toEqual([{ type: "paste", text: "one\rtwo\r" }]);
});

test("That a key is let go of is nothing", () => {
  expect(pressedOf("a", { ...nothing, eventType: "release" })).toEqual([]);
});

test("Keys that a slow line brings together with text are keys", () => {
  expect(pressedOf("/sta\t", nothing)).toEqual([
    { type: "text", text: "/sta" },
    { type: "key", chord: "tab" },
  ]);
  expect(pressedOf("\u0015abc\u0014\u0014", nothing).slice(0, 3)).toEqual([
    { type: "key", chord: "ctrl+u" },
    { type: "text", text: "abc" },
    { type: "key", chord: "ctrl+t" },
  ]);
  expect(pressedOf("a\tb", nothing)).toEqual([{ type: "text", text: "a\tb" }]);
  expect(pressedOf("\n", nothing)).toEqual([{ type: "key", chord: "ctrl+j" }]);
});

test("Blank lines at the end are a paste as well, and send nothing", () => {
  expect(pressedOf("abc\r\r", nothing)).toEqual([{ type: "paste", text: "abc\r\r" }]);
  expect(pressedOf("abc\r\n", nothing).at(-1)).toEqual({ type: "key", chord: "enter" });
  expect(pressedOf("\rabc", nothing)).toEqual([{ type: "paste", text: "\rabc" }]);
});

test("A terminal that tells Shift+Enter apart is believed", () => {
  expect(pressedOf("", { ...nothing, return: true, shift: true })).toEqual([
    { type: "key", chord: "shift+enter" },
  ]);
});
