import { expect, test } from "vitest";
import { commandTable } from "../../application/commands/command-table.ts";
import { chatWordOf, completeChatWord } from "./chat-words.ts";

test("No word of the chat takes the place of a command", () => {
  const words = completeChatWord("/").map(({ text }) => text.slice(1));
  expect(words.length).toBeGreaterThan(2);
  for (const { name } of commandTable) expect(words).not.toContain(name.split(" ")[0]);
});

test("A word is one only by itself", () => {
  expect(chatWordOf("/quit ")).toBe("leave");
  expect(chatWordOf("/quit it")).toBeUndefined();
  expect(chatWordOf("quit")).toBeUndefined();
});
