import { setTimeout as delay } from "node:timers/promises";
import { ChatDesk } from "../../src/surfaces/tui/chat.test-support.ts";
import {
  openedAt,
  step,
  coloured as style,
  working,
} from "../../src/surfaces/tui/chat-state.test-support.ts";
import { drawApart } from "../../src/surfaces/tui/draw/draw-entry.ts";
import { drawScreen } from "../../src/surfaces/tui/draw/draw-screen.ts";
import { editorWith } from "../../src/surfaces/tui/keys/editor.ts";
import { median } from "../run/report.ts";
import { type Bar, growth, linear, processorTime, ratio, yardstick } from "./bar.ts";

/** The screen while a text of this length is in the editor. */
function pasted(length: number): () => unknown {
  const line = `${"some words of a pasted line ".repeat(30)}\n`;
  const text = line.repeat(Math.ceil(length / line.length)).slice(0, length);
  const state = { ...openedAt(80, 24), editor: editorWith(text) };
  return () => drawScreen(state, style);
}

const children = 50;

const playbook = `
version: 1
name: many
replies:
  - when: { depth: 0, turn: 1 }
    calls:
${'      - { tool: delegate_task, input: { profile: researcher, task: "Part" } }\n'.repeat(children)}
  - when: { depth: 0 }
    text: "All are done."
  - text: "${"streamed words that come in small pieces, one after the other. ".repeat(8)}"
    latency_ms: 8000
    chunks: 200
`;

/** Processor time from a key to the screen that shows it, the median of 40 keys. */
async function timeOfKeys(chat: ChatDesk): Promise<number> {
  const times: number[] = [];
  for (let place = 0; place < 40; place += 1) {
    const letter = String.fromCharCode(97 + (place % 26));
    const typed = chat.store.state.editor.text + letter;
    times.push(
      await processorTime(async () => {
        await chat.press(letter);
        await chat.see(typed);
      }),
    );
    await delay(23);
  }
  // A line that is longer than the screen would not be seen as it was typed.
  while (chat.store.state.editor.text !== "") await chat.press("\u007f");
  return median(times);
}

async function measureKeys(): Promise<number> {
  const chat = await ChatDesk.open({ playbook, maxConcurrent: children + 1 });
  try {
    await timeOfKeys(chat);
    const idle = await timeOfKeys(chat);
    await chat.say("many");
    await chat.see(/and \d+ more/);
    const busy = await timeOfKeys(chat);
    if (chat.store.state.agents.length <= children) throw new Error("The children have ended.");
    return busy / idle;
  } finally {
    await chat.close();
  }
}

const answerLines = 10_000;

/** Processor time of each thousand lines of an answer: taken in piece by piece, and drawn each time. */
async function measureAnswer(): Promise<number> {
  const times: number[] = [];
  let state = working;
  for (let line = 0; line < answerLines; line += 1000) {
    const took = await processorTime(() => {
      for (let place = line; place < line + 1000; place += 1) {
        const before = state.entries;
        const delta = { type: "delta", delegationId: "root", text: lineOf(place) } as const;
        state = step(state, delta).state;
        for (const [index, entry] of state.entries.slice(before.length).entries()) {
          drawApart(entry, state.entries[before.length + index - 1], state.columns, style);
        }
        drawScreen(state, style);
      }
    });
    times.push(took);
  }
  return (times.at(-1) ?? Number.NaN) / (times[1] ?? Number.NaN);
}

/** Paragraphs, lists and code in turn. */
function lineOf(place: number): string {
  const kind = Math.floor(place / 20) % 3;
  if (kind === 0) return `A paragraph of **some** words, number ${place}.\n\n`;
  if (kind === 1) return `- an item of a list, number ${place}\n`;
  return place % 20 === 0 ? "\n```ts\n" : place % 20 === 19 ? "```\n\n" : `const x = ${place};\n`;
}

/** The terminal. */
export const screenBars: readonly Bar[] = [
  {
    name: "screen: a paste is laid out",
    ...linear,
    measure: () => growth(25_000, pasted),
  },
  {
    name: "screen: the largest paste is laid out",
    about: "200,000 characters over 1,000 small JSON records",
    atMost: 10,
    measure: () => ratio(pasted(200_000), yardstick),
  },
  {
    name: "screen: a key while 50 children stream",
    about: "from the key to the screen over a key in an idle chat",
    atMost: 4,
    measure: measureKeys,
  },
  {
    name: "screen: an answer of 10,000 lines is streamed",
    about: "the last thousand lines over the second thousand",
    atMost: 4,
    measure: measureAnswer,
  },
];
