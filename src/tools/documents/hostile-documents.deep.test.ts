import { existsSync, readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";
import type { DocumentKind, DocumentReply } from "./document-request.ts";
import {
  makeDocx,
  makePdf,
  makePdfBomb,
  makeZip,
  paragraph,
} from "./make-documents.test-support.ts";
import { readDocument } from "./read-document.ts";

const view = { kind: "window", page: 1, offset: 0, limit: 1000 } as const;
const never = new AbortController().signal;

function read(kind: DocumentKind, bytes: Buffer, timeMs?: number): Promise<DocumentReply> {
  const limits = timeMs === undefined ? {} : { timeMs };
  return readDocument({ kind, format: "markdown", view }, bytes, { signal: never, limits });
}

const hasProcesses = existsSync("/proc/self/status");
const slow = Buffer.from(`${"<ul><li>".repeat(510)}${"<b>x</b> ".repeat(400_000)}`);

/** Processes of this test that read documents just now. */
function findParsers(): readonly string[] {
  if (!hasProcesses) return [];
  return readdirSync("/proc").filter((id) => {
    try {
      if (!/^\d+$/.test(id)) return false;
      const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
      if (Number(parent) !== process.pid) return false;
      return /^[^\0]*node\0.*parser-main/s.test(readFileSync(`/proc/${id}/cmdline`, "utf8"));
    } catch {
      // It ended while it was looked at.
      return false;
    }
  });
}

async function isBeingRead(): Promise<void> {
  await until("a process reads it", () => !hasProcesses || findParsers().length > 0);
}

test("a Word document that unpacks to gigabytes is refused by its directory", async () => {
  const zeros = Buffer.alloc(40 * 1024 * 1024);
  const bomb = makeDocx(paragraph("x"), [
    { name: "word/media/a.xml", content: zeros },
    { name: "word/media/b.xml", content: zeros },
  ]);
  expect(bomb.length).toBeLessThan(200_000);
  expect(await read("docx", bomb)).toEqual({
    kind: "problem",
    text: "The document unpacks to more than 64 MB, so it is not opened.",
  });
});

test("a directory that lies about sizes is found out while unpacking", async () => {
  const content = Buffer.alloc(60 * 1024 * 1024);
  const bomb = makeDocx(paragraph("x"), [{ name: "word/a.xml", content, claimedSize: 10 }]);
  const before = process.memoryUsage().rss;
  const reply = await read("docx", bomb);
  expect(reply).toMatchObject({ kind: "problem", text: expect.stringContaining("do not agree") });
  expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
});

test("a directory that is wrong by one byte is wrong", async () => {
  for (const claimedSize of [99, 101]) {
    const content = Buffer.alloc(100);
    const document = makeDocx(paragraph("x"), [{ name: "word/a.xml", content, claimedSize }]);
    const reply = await read("docx", document);
    expect(reply).toMatchObject({ kind: "problem", text: expect.stringContaining("do not agree") });
  }
});

test("an encrypted archive and a damaged one are told apart", async () => {
  const locked = makeZip([{ name: "word/document.xml", content: Buffer.from("x"), flags: 1 }]);
  expect(await read("docx", locked)).toMatchObject({ text: expect.stringContaining("encrypted") });
  const whole = makeDocx(paragraph("x"));
  const cut = whole.subarray(0, whole.length - 30);
  expect(await read("docx", cut)).toMatchObject({ text: expect.stringContaining("damaged") });
});

test("entities of a Word document that multiply are not expanded", async () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const inside = level === 0 ? "lol" : `&l${level - 1};`.repeat(10);
    return `<!ENTITY l${level} "${inside}">`;
  });
  const xml = `<!DOCTYPE x [${levels.join("")}]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&l11;</w:t></w:r></w:p></w:body></w:document>`;
  const bomb = makeZip([{ name: "word/document.xml", content: Buffer.from(xml) }]);
  const reply = await read("docx", bomb);
  expect(JSON.stringify(reply).length).toBeLessThan(2000);
});

test("a PDF whose content unpacks to hundreds of megabytes ends in a sentence, and this process stays small", async () => {
  const bomb = makePdfBomb(200 * 1024 * 1024);
  const before = process.memoryUsage().rss;
  const reply = await read("pdf", bomb, 2500);
  expect(["problem", "window"]).toContain(reply.kind);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  expect(findParsers()).toEqual([]);
}, 30_000);

test("a PDF of pictures is said to hold no text", async () => {
  const reply = await read("pdf", makePdf([[], [], []]));
  expect(reply).toMatchObject({ kind: "window", pages: 3, text: "" });
});

test("pages that refer to each other in a circle end", async () => {
  const pdf = makePdf([["x"]])
    .toString("latin1")
    .replace("/Kids [4 0 R]", "/Kids [2 0 R]");
  const reply = await read("pdf", Buffer.from(pdf, "latin1"), 8000);
  expect(reply.kind).not.toBe("passages");
});

test("a document that takes too long is stopped, and its process with it", async () => {
  const clock = new ManualClock();
  const request = { kind: "html", format: "markdown", view } as const;
  const reading = readDocument(request, slow, { signal: never, limits: { timeMs: 300 }, clock });
  await isBeingRead();
  await clock.advance(300);
  expect(await reading).toEqual({
    kind: "problem",
    text: "Reading the document took more than 0.3 s, so it was stopped.",
  });
  expect(findParsers()).toEqual([]);
});

test("a call that is cancelled takes its process with it", async () => {
  const controller = new AbortController();
  const request = { kind: "html", format: "markdown", view } as const;
  const reading = readDocument(request, slow, { signal: controller.signal });
  await isBeingRead();
  controller.abort();
  await expect(reading).rejects.toThrow(/abort/);
  expect(findParsers()).toEqual([]);
});

test("many documents at once are all read, a few at a time", async () => {
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => read("text", Buffer.from(`document ${index}`))),
  );
  expect(replies.map((reply) => reply.kind === "window" && reply.text)).toEqual(
    Array.from({ length: 12 }, (_, index) => `document ${index}`),
  );
});

test.skipIf(!hasProcesses)(
  "the process that reads has none of our keys, may only read, and is bounded by the kernel",
  async () => {
    vi.stubEnv("MANDATE_CANARY_KEY", "canary-value");
    const controller = new AbortController();
    const request = { kind: "html", format: "markdown", view } as const;
    const reading = readDocument(request, slow, { signal: controller.signal });
    try {
      const id = await until("a process reads it", () => findParsers()[0]);
      const fact = (name: string) => readFileSync(`/proc/${id}/${name}`, "utf8");
      expect(fact("environ")).not.toContain("canary");
      expect(fact("cmdline").split("\0")).toContain("--permission");
      expect(fact("cmdline")).not.toMatch(/--allow-(?!fs-read)/);
      expect(fact("limits")).toMatch(/Max cpu time\s+21\s+21\s/);
      expect(fact("limits")).toMatch(/Max data size\s+1073741824\s+1073741824\s/);
    } finally {
      vi.unstubAllEnvs();
      controller.abort();
      await reading.catch(() => undefined);
    }
  },
);

test("no damage to a document is more than a typed problem", async () => {
  const samples: readonly (readonly [DocumentKind, Buffer])[] = [
    ["pdf", makePdf([["one", "two"], ["three"]])],
    ["docx", makeDocx(paragraph("one") + paragraph("two", "Heading1"))],
  ];
  const damage = fc.record({
    sample: fc.constantFrom(...samples),
    changes: fc.array(fc.record({ at: fc.nat(), to: fc.integer({ min: 0, max: 255 }) }), {
      maxLength: 20,
    }),
    cut: fc.option(fc.nat()),
  });
  await fc.assert(
    fc.asyncProperty(damage, async ({ sample: [kind, bytes], changes, cut }) => {
      const broken = Buffer.from(bytes);
      for (const { at, to } of changes) broken[at % broken.length] = to;
      const size = cut === null ? broken.length : cut % broken.length;
      const reply = await read(kind, broken.subarray(0, size), 8000);
      expect(["window", "problem"]).toContain(reply.kind);
    }),
    { numRuns: cases(16, 4) },
  );
});
