import { expect, test } from "vitest";
import { key, opened, step, text } from "../chat-state.test-support.ts";
import { mentionAt, mentioning } from "./completing.ts";

const said = {
  ...opened,
  history: { said: ["fix tides", "run tests", "fix moon"], place: null, draft: "" },
};

test("Ctrl+R finds what was said before, the latest first, and Esc gives back what was typed", () => {
  const found = step(said, text("draft"), key("ctrl+u"), key("ctrl+r"), text("FIX")).state;
  expect(found.completion?.candidates.map(({ label }) => label)).toEqual(["fix moon", "fix tides"]);
  expect(step(found, key("ctrl+r"), key("enter")).state).toMatchObject({
    editor: { text: "fix tides" },
    search: null,
    completion: null,
  });
  const escaped = step(said, text("draft"), key("ctrl+r"), text("x"), key("escape"));
  expect(escaped.state).toMatchObject({ editor: { text: "draft" }, search: null });
  expect(escaped.effects).toEqual([]);
});

test("A file is completed where the cursor is, with Tab or Enter, and an address is none", () => {
  expect(mentionAt({ text: "mail a@b", cursor: 8 })).toBeUndefined();
  const asked = step(opened, text("read @ti now"), key("alt+left"), key("left"));
  const { editor } = asked.state;
  const mention = mentionAt(editor);
  expect(mention).toEqual({ from: 5, wanted: "ti" });
  if (mention === undefined) return;
  const candidates = [mentioning(editor, mention, "src/tides.ts")];
  for (const chord of ["tab", "enter"]) {
    const { state } = step(
      asked.state,
      { type: "candidates", of: editor.text, candidates },
      key(chord),
    );
    expect(state.editor).toEqual({ text: "read @src/tides.ts now", cursor: 19 });
  }
  const whole = step(opened, text("read @a.ts"));
  const same = [mentioning(whole.state.editor, { from: 5, wanted: "a.ts" }, "a.ts")];
  const sent = step(
    whole.state,
    { type: "candidates", of: "read @a.ts", candidates: same },
    key("enter"),
  );
  expect(sent.effects.at(-1)).toEqual({ do: "send", text: "read @a.ts" });
});
