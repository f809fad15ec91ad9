import { expect, test } from "vitest";
import { ChatDesk } from "./chat.test-support.ts";

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
    latency_ms: 8000
    chunks: 200
`;

/** Milliseconds of processor time: what other programs do to this machine is not what is measured. */
const bar = 30;

test(`A key is painted within ${bar} ms while ${children} children stream`, async () => {
  const chat = await ChatDesk.open({ playbook, maxConcurrent: children + 1 });
  try {
    await chat.say("many");
    await chat.see(/and \d+ more/);
    const taken: number[] = [];
    for (let place = 0; place < 40; place += 1) {
      const letter = String.fromCharCode(97 + (place % 26));
      const typed = chat.store.state.editor.text + letter;
      const started = process.cpuUsage();
      await chat.pressAndSee(letter, typed);
      const { system, user } = process.cpuUsage(started);
      taken.push((system + user) / 1000);
      await new Promise((resolve) => setTimeout(resolve, 23));
    }
    const middle = taken.toSorted((one, other) => one - other)[Math.floor(taken.length / 2)];
    expect(middle).toBeLessThan(bar);
  } finally {
    await chat.close();
  }
});
