import { expect, test } from "vitest";
import { Attention } from "./attention.ts";
import { asked, inbox, opened, working } from "./chat-state.test-support.ts";
import { ChatStore } from "./chat-store.ts";

function written(term: string, use: (store: ChatStore) => void, state = opened): string {
  const texts: string[] = [];
  const writer = { writeExact: () => undefined, isTerminal: true, columns: 80, rows: 24 };
  const stdout = { ...writer, write: (more: string) => void texts.push(more) };
  const store = new ChatStore(state);
  const attention = new Attention(store, "har\u001b[2Jbour", {
    environment: { TERM: term },
    stdout,
  });
  use(store);
  attention.close();
  return texts.join("");
}

test("A question rings once, the title says what the chat does, and the old title comes back", () => {
  const text = written(
    "xterm",
    (store) => {
      store.dispatch(inbox([asked]));
      store.dispatch(inbox([asked]), { type: "tick", now: 1 });
    },
    working,
  );
  expect(text).toBe(
    [
      "\u001b[22;0t",
      "\u001b]2;* working - harbour - mandate\u0007",
      "\u0007",
      "\u001b]2;? asks you - harbour - mandate\u0007",
      "\u001b[23;0t",
    ].join(""),
  );
});

test("A console without a title gets the bell alone", () => {
  expect(written("linux", (store) => store.dispatch(inbox([asked])))).toBe("\u0007");
});
