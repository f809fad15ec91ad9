import { expect, test } from "vitest";
import { addressesIn, originsIn } from "./addresses.ts";

test.each([
  ["See https://a.example/x.", "https://a.example/x"],
  ["[a link](https://a.example/x)", "https://a.example/x"],
  ["[https://a.example/x](https://b.example/y)", "https://b.example/y"],
  ["<https://a.example/x>", "https://a.example/x"],
  ['"https://a.example/x?q=1&r=2"', "https://a.example/x?q=1&r=2"],
  ["(see https://a.example/wiki/Foo_(bar))", "https://a.example/wiki/Foo_(bar)"],
  ["HTTPS://A.Example/x#part", "https://a.example/x"],
  ["http://127.0.0.1:4040/", "http://127.0.0.1:4040/"],
])("%j has the address %s", (text, address) => {
  expect([...addressesIn(text)]).toContain(address);
});

test("a part of an address, or more than it, is another address", () => {
  const found = addressesIn("https://a.example/x/y?q=1 and https://b.example/?d=");
  for (const other of [
    "https://a.example/x/y",
    "https://a.example/x",
    "https://a.example/",
    "https://b.example/?d=secret",
    "https://b.example/",
  ]) {
    expect(found.has(other), other).toBe(false);
  }
});

test("nothing is an address that carries a name and password, or no host", () => {
  expect([...addressesIn("https://ann:word@a.example/ https:// http://")]).toEqual([]);
});

test("a person names origins by addresses and by names that can only be hosts", () => {
  const text =
    "Compare https://docs.a.example:8443/x with news.b.com, www.c.org/y and D.IO. Summarise " +
    "notes.md, src/main.rs, a/b.com/c, ann@mail.com, x.com.evil and lib.dev-x into out.zip.";
  expect(originsIn(text)).toEqual([
    "https://docs.a.example:8443",
    "https://news.b.com",
    "https://www.c.org",
    "https://d.io",
  ]);
});
