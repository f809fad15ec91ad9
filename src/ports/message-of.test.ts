import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { messageOf, reasonOf } from "./message-of.ts";

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing was thrown.");
}

test("an error of the operating system is told in words, without its code", () => {
  const error = thrownBy(() => readFileSync("/gone/file.txt"));
  expect(reasonOf(error)).toBe("no such file or folder");
  expect(messageOf(error)).toBe("/gone/file.txt: no such file or folder");
  const refused = Object.assign(new Error("connect ECONNREFUSED"), {
    ...{ code: "ECONNREFUSED", address: "127.0.0.1", port: 9 },
  });
  expect(messageOf(refused)).toBe("127.0.0.1:9: nothing answers there");
});

test("a code without words of its own is named, and every other error gives its message", () => {
  const strange = Object.assign(new Error("E?"), { code: "ESTRANGE" });
  expect(reasonOf(strange)).toBe("the operating system reports ESTRANGE");
  const own = Object.assign(new Error("It is not so."), { code: "ERR_OWN" });
  expect([reasonOf(own), messageOf("text"), reasonOf({})]).toEqual([
    ...["It is not so.", "text", "[object Object]"],
  ]);
  expect(messageOf(Object.create(null))).toBe("a value without a text was thrown");
});
