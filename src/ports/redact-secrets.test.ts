import fc from "fast-check";
import { expect, test } from "vitest";
import { redactionOf, redactSecrets } from "./redact-secrets.ts";

test("known secrets and what looks like a key are removed, the rest stays", () => {
  const text =
    "Incorrect key: tok-1234. Header: Bearer abc.def, key sk-ant-api03-AAAABBBBCCCC0000.";
  const safe = redactSecrets(text, ["tok-1234"]);
  expect(safe).toBe("Incorrect key: [redacted]. Header: [redacted], key [redacted].");
});

test("an empty secret removes nothing", () => {
  expect(redactSecrets("skip the tasks", ["", "a"])).toBe("skip the tasks");
});

const secret = 'hf/Zo+9~k?3e"Q\\v7 ü';

/** Every character, or none of it, in an escape of its own. */
function escaped(inOther: (character: string) => string, every: number): string {
  return [...secret].map((each, at) => (at % every === 0 ? inOther(each) : each)).join("");
}

function percent(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16)}`).join("");
}

function unicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

test.each([
  ["percent-encoding", encodeURIComponent(secret)],
  ["percent-encoding of every byte", escaped(percent, 1)],
  [
    "percent-encoding of some bytes, in capitals",
    escaped((each) => percent(each).toUpperCase(), 3),
  ],
  ["JSON", JSON.stringify(secret)],
  ["JSON inside JSON", JSON.stringify(JSON.stringify({ secret }))],
  ["JSON with escapes of every character", escaped(unicode, 1)],
  ["JSON with some escapes", escaped(unicode, 2)],
  ["JSON with escaped slashes", JSON.stringify(secret).replaceAll("/", "\\/")],
  ["HTML", escaped((each) => `&#${each.charCodeAt(0)};`, 2)],
  ["hex", Buffer.from(secret).toString("hex")],
  ["hex in capitals", Buffer.from(secret).toString("hex").toUpperCase()],
  ["hex in pairs", Buffer.from(secret).toString("hex").replaceAll(/../g, "$&:")],
  ["hex escapes", Buffer.from(secret).toString("hex").replaceAll(/../g, "\\x$&")],
])("a known secret is removed from %s", (_form, text) => {
  const safe = redactSecrets(`before ${text} after`, [secret]);
  expect(safe).toContain("[redacted]");
  expect(safe.length).toBeLessThan(50);
});

test("a known secret is removed from base64 of any text that holds it", () => {
  const redact = redactionOf([secret]);
  const bytes = fc.uint8Array({ maxLength: 40 });
  const encodings = fc.constantFrom<BufferEncoding>("base64", "base64url");
  fc.assert(
    fc.property(bytes, bytes, encodings, fc.boolean(), (before, after, encoding, isWrapped) => {
      const encoded = Buffer.concat([before, Buffer.from(secret), after]).toString(encoding);
      const text = isWrapped ? encoded.replaceAll(/.{19}/g, "$&\r\n") : encoded;
      const safe = redact(text);
      expect(safe).toContain("[redacted]");
      const left = safe.replaceAll(/\s/g, "").split("[redacted]");
      expect(left.join("").length).toBeLessThanOrEqual(
        encoded.length - Math.floor((Buffer.byteLength(secret) * 8) / 6) + 3,
      );
    }),
  );
});

test("a secret of several lines is removed whole, also from base64", () => {
  const long = Array.from({ length: 90 }, (_, line) => `line ${line} of a private key`).join("\n");
  expect(redactSecrets(`<${long}>`, [long]).replaceAll("[redacted]", "")).toBe("<>");
  const encoded = Buffer.from(long).toString("base64");
  expect(redactSecrets(encoded, [long]).replaceAll("[redacted]", "").length).toBeLessThan(50);
});

test("texts without a secret stay as they are", () => {
  const redact = redactionOf([secret]);
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      fc.pre(!text.includes(secret));
      expect(redact(text)).toBe(text);
    }),
  );
});
