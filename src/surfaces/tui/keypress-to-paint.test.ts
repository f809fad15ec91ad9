import { expect, test } from "vitest";
import { sitDownWith } from "./chat.test-support.ts";

const children = 50;

const playbook = `
version: 1
name: many
replies:
  - when: { depth: 0, turn: 1 }
    calls:
${Array.from({ length: children }, (_each, place) => `      - { tool: delegate_task, input: { profile: researcher, task: "Part ${place}" } }`).join("\n")}
  - when: { depth: 0 }
    text: "All are done."
  - text: "${"streamed words that come in small pieces, one after the other. ".repeat(8)}"
    latency_ms: 600000
    chunks: 200
`;

const sitDown = sitDownWith(playbook);

test(`Every key is painted while ${children} children stream`, async () => {
  const chat = await sitDown({ maxConcurrent: children + 1 });
  await chat.say("many");
  await chat.see(/and \d+ more/);
  for (let place = 0; place < 40; place += 1) {
    const letter = String.fromCharCode(97 + (place % 26));
    const typed = chat.store.state.editor.text + letter;
    await chat.press(letter);
    await chat.see(typed);
  }
  expect(chat.store.state.agents.length).toBeGreaterThan(children);
});
