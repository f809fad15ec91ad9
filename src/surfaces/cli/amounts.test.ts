import { expect, test } from "vitest";
import {
  countOf,
  formatAge,
  formatCost,
  formatElapsed,
  formatSpan,
  formatTokens,
} from "./amounts.ts";

test("tokens are short and never look smaller than they are", () => {
  const numbers = [
    0, 999, 1000, 1234, 50_000, 99_960, 123_456, 999_400, 999_600, 1_000_000, 12_345_678,
  ];
  expect(numbers.map(formatTokens)).toEqual([
    "0",
    "999",
    "1k",
    "1.2k",
    "50k",
    "100k",
    "123k",
    "999k",
    "1M",
    "1M",
    "12.3M",
  ]);
});

test("costs keep their cents and fractions of them", () => {
  expect([0, 0.00001, 0.0123, 0.5, 1.239, 600].map(formatCost)).toEqual([
    "$0",
    "<$0.0001",
    "$0.0123",
    "$0.5000",
    "$1.24",
    "$600.00",
  ]);
});

test("times are read like a clock, in sentences like a span, in lists like an age", () => {
  expect([-5, 7_400, 760_000, 11_100_000].map(formatElapsed)).toEqual([
    "0:00",
    "0:07",
    "12:40",
    "3:05:00",
  ]);
  expect([850, 9_400, 300_000, 7_200_000].map(formatSpan)).toEqual([
    "850 ms",
    "9.4 s",
    "5 min",
    "2 h",
  ]);
  expect([0, 42_000, 300_000, 7_200_000, 200_000_000].map(formatAge)).toEqual([
    "just now",
    "42 s ago",
    "5 min ago",
    "2 h ago",
    "2 d ago",
  ]);
  expect([countOf(1, "agent"), countOf(2, "agent")]).toEqual(["1 agent", "2 agents"]);
});
