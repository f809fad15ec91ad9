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
    const waited: number[] = [];
    for (let place = 0; place < 40; place += 1) {
      const letter = String.fromCharCode(97 + (place % 26));
      const typed = chat.store.state.editor.text + letter;
      const started = process.cpuUsage();
      const pressedAt = performance.now();
      await chat.pressAndSee(letter, typed);
      const { system, user } = process.cpuUsage(started);
      taken.push((system + user) / 1000);
      waited.push(performance.now() - pressedAt);
      await new Promise((resolve) => setTimeout(resolve, 23));
    }
    expect(chat.store.state.agents.length).toBeGreaterThan(children);
    const [processor, clock] = [taken, waited].map(spread);
    // For whoever reads the figures: the clock also shows what else this machine does.
    process.stdout.write(
      `  key to paint: ${processor?.text} of processor, ${clock?.text} by the clock\n`,
    );
    expect(processor?.middle).toBeLessThan(bar);
  } finally {
    await chat.close();
  }
});

function spread(times: readonly number[]): { readonly middle: number; readonly text: string } {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { middle: at(0.5), text: `${at(0.5).toFixed(1)} ms (95 %: ${at(0.95).toFixed(1)})` };
}
