import fc from "fast-check";
import { expect, test } from "vitest";
import { type Edit, edits, emptyEditor, insert, moveLine } from "./editor.ts";

const names = Object.keys(edits) as Edit[];

test("A character of several code points is one to move over and one to delete", () => {
  const family = insert(emptyEditor, "a👨‍👩‍👧é");
  const before = edits.left(edits.left(family));
  expect(before.cursor).toBe(1);
  expect(edits.delete(before).text).toBe("aé");
  expect(edits.backspace(family).text).toBe("a👨‍👩‍👧");
});

test("Control characters cannot be typed or pasted, lines and tabs can", () => {
  expect(insert(emptyEditor, "a\u001b[2Jb\u0007\r\nc\rd\te").text).toBe("ab\nc\nd\te");
});

test("Lines above and below are reached at the same column, or at their end", () => {
  const editor = { text: "long line\nab\nlonger", cursor: 7 };
  const below = moveLine(editor, 1);
  expect(below?.cursor).toBe(12);
  expect(moveLine(editor, -1)).toBeNull();
  expect(below && moveLine(below, -1)?.cursor).toBe(2);
});

test("Words and lines are deleted around the cursor alone", () => {
  const editor = { text: "one two\nthree four", cursor: 18 };
  expect(edits["delete-word"](editor).text).toBe("one two\nthree ");
  expect(edits["delete-to-start"](editor).text).toBe("one two\n");
  expect(edits["delete-to-end"]({ ...editor, cursor: 3 }).text).toBe("one\nthree four");
});

test("No sequence of keys leaves the cursor outside of the text or inside of a surrogate pair", () => {
  const step = fc.oneof(fc.constantFrom(...names), fc.string({ unit: "grapheme", maxLength: 4 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let editor = emptyEditor;
      for (const each of steps) {
        editor = names.includes(each as Edit) ? edits[each as Edit](editor) : insert(editor, each);
        expect(editor.cursor).toBeGreaterThanOrEqual(0);
        expect(editor.cursor).toBeLessThanOrEqual(editor.text.length);
        expect(editor.text.isWellFormed()).toBe(true);
      }
    }),
  );
});
