import { expect, it } from "vitest";
import { waitingQuestion } from "./waiting-question.ts";

const question = (at: number, answer: string | null) =>
  ({ kind: "question", at, text: "Which?", answer }) as const;
const note = { kind: "note", at: 9, text: "It went on." } as const;

it("is the last one without an answer, while its agent asks", () => {
  const waiting = question(2, null);
  expect(waitingQuestion([question(1, null), waiting, note], true)).toBe(waiting);
  expect(waitingQuestion([question(1, null), waiting, note], false)).toBeUndefined();
});

it("is none when the last one was answered, whatever became of those before", () => {
  expect(waitingQuestion([question(1, null), question(2, "this")], true)).toBeUndefined();
  expect(waitingQuestion([note], true)).toBeUndefined();
});
