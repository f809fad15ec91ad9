import { expect, it } from "vitest";
import { formatLog, type LogEntry } from "./log.ts";

const entry: LogEntry = {
  level: "warn",
  code: "lease_lost",
  message: 'It said\n{"level":"info"}\u001b[31m',
  worker: "w1",
  run: undefined,
};
const at = Date.UTC(2030, 0, 2, 3, 4, 5, 6);

it("is one JSON document on one line, with time, level, code and what it is about", () => {
  const line = formatLog(entry, "json", at);
  expect(line.trimEnd().split("\n")).toHaveLength(1);
  expect(line).not.toContain("\u001b");
  expect(JSON.parse(line)).toEqual({
    time: "2030-01-02T03:04:05.006Z",
    ...{ level: "warn", worker: "w1", code: "lease_lost", message: entry.message },
  });
});

it("is text for people, in which no quoted text begins a line", () => {
  const line = formatLog(entry, "text", at);
  expect(line).toMatch(/^2030-01-02T03:04:05\.006Z warn {2}It said\n {2}\{/);
  expect(line).toMatch(/ worker=w1 \(lease_lost\)\n$/);
});
