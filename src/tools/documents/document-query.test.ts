import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { createDocumentQuery } from "./document-query.ts";
import { makeDocx, makePdf, makeZip, paragraph, tableOf } from "./make-documents.test-support.ts";

const documentQuery = createDocumentQuery();
let root: string;

beforeEach(() => {
  root = testFolder();
});

function contextOf(change: Partial<ToolContext> = {}): ToolContext {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  const { signal } = new AbortController();
  return {
    runId: "r",
    delegationId: "d",
    callId: "c",
    workspace,
    signal,
    ...change,
  } as ToolContext;
}

async function ask(input: object, change: Partial<ToolContext> = {}): Promise<ToolResult> {
  const parsed = documentQuery.input.parse(input);
  return (await documentQuery.execute(parsed, contextOf(change))) as ToolResult;
}

function put(name: string, content: string | Buffer): void {
  writeFileSync(join(root, name), content);
}

const report = makePdf(
  [
    ["Annual report", "This page is an introduction."],
    ["Payment terms", "Invoices are paid within thirty days."],
    ["Appendix (with brackets)", "Nothing else."],
  ],
  "Report 2031",
);

describe("a PDF", () => {
  test("is read page after page, with its title and where each page begins", async () => {
    put("report.pdf", report);
    const { text, isError } = await ask({ path: "report.pdf" });
    expect(isError).toBeUndefined();
    expect(text).toBe(
      '[report.pdf: PDF, 3 pages, "Report 2031", from page 1]\n' +
        "Annual report\nThis page is an introduction.\n\n[page 2]\nPayment terms\n" +
        "Invoices are paid within thirty days.\n\n[page 3]\nAppendix (with brackets)\nNothing else.",
    );
  });

  test("is searched, and the place that is named can be read from", async () => {
    put("report.pdf", report);
    const { text } = await ask({ path: "report.pdf", query: "payment invoice" });
    expect(text).toMatch(
      /best passages first\]\n\n\[1: page 2, offset 0\]\nPayment terms\nInvoices/,
    );
    expect(text).not.toContain("Appendix");
    const page = await ask({ path: "report.pdf", page: 2, limit: 14 });
    expect(page.text).toMatch(
      /from page 2\]\nPayment terms\n\n\[more follows: continue with page 2 and offset 14\]$/,
    );
    const rest = await ask({ path: "report.pdf", page: 2, offset: 14, limit: 38 });
    expect(rest.text).toContain("\nInvoices are paid within thirty days.\n");
  });

  test("has no page beyond its last", async () => {
    put("report.pdf", report);
    expect(await ask({ path: "report.pdf", page: 9 })).toMatchObject({
      isError: true,
      text: expect.stringContaining("there is no page 9"),
    });
  });

  test("is one by its bytes, whatever it is called", async () => {
    put("report.txt", report);
    expect((await ask({ path: "report.txt" })).text).toMatch(/^\[report.txt: PDF, 3 pages/);
  });
});

describe("a Word document", () => {
  test("keeps headings and tables", async () => {
    const body =
      paragraph("Terms", "Heading1") +
      paragraph("Invoices &amp; receipts.") +
      tableOf([
        ["item", "price"],
        ["bolt", "2"],
      ]);
    put("terms.docx", makeDocx(body));
    const { text } = await ask({ path: "terms.docx" });
    expect(text).toContain(
      "# Terms\n\nInvoices & receipts.\n\n| item | price |\n| --- | --- |\n| bolt | 2 |",
    );
  });

  test("names the heading above a passage", async () => {
    const filler = paragraph("Other words, many of them. ".repeat(40));
    put(
      "a.docx",
      makeDocx(paragraph("Costs", "Heading2") + filler + paragraph("A bolt costs two.")),
    );
    const { text } = await ask({ path: "a.docx", query: "bolt costs" });
    expect(text).toMatch(/\[1: line \d+, offset \d+, under "Costs"\]/);
    expect(text).toContain("A bolt costs two.");
  });

  test("is not any other archive", async () => {
    put("a.docx", makeZip([{ name: "x.txt", content: Buffer.from("x") }]));
    expect(await ask({ path: "a.docx" })).toEqual({
      isError: true,
      text: "a.docx: This is an archive, and not a Word document: there is no word/document.xml in it.",
    });
  });
});

describe("text", () => {
  test("of HTML comes as Markdown, other text as it is", async () => {
    put("a.html", "<title>T</title><nav>menu</nav><p>one <b>two</b> <a href='x'>three</a></p>");
    put("a.md", "# One\n\ntwo\n");
    put("latin.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9]));
    expect((await ask({ path: "a.html" })).text).toMatch(
      /# T\n\n.*one \*\*two\*\* \[three\]\(x\)$/s,
    );
    expect((await ask({ path: "a.md" })).text).toBe(
      "[a.md: Markdown, 11 characters]\n# One\n\ntwo\n",
    );
    expect((await ask({ path: "latin.txt" })).text).toContain("café");
  });

  test("read in pieces adds up to the whole, and no character is torn", async () => {
    const content = "a line of text with 🙂 in it\n🙂🙂🙂\n".repeat(300);
    put("long.txt", content);
    let whole = "";
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const { text } = await ask({ path: "long.txt", offset, limit: 4001 });
      const [, body = "", next] =
        /^\[[^\n]*\]\n(.*?)(?:\n\[more follows: continue with offset (\d+)\])?$/s.exec(text) ?? [];
      whole += body;
      offset = next === undefined ? undefined : Number(next);
    }
    expect(whole).toBe(content);
  });

  test("is ranked by how rare the words are and how well they stand together", async () => {
    const common = "The system has a policy. ".repeat(12);
    const wanted = "The retention policy of the archive is seven years.";
    put("policy.md", `# General\n\n${common}\n\n## Archive\n\n${wanted}\n\n## End\n\n${common}`);
    const { text } = await ask({ path: "policy.md", query: "retention policy archive" });
    expect(text).toMatch(
      /\[1: line \d+, offset \d+, under "Archive"\]\n## Archive\n\nThe retention/,
    );
    const none = await ask({ path: "policy.md", query: "zebra" });
    expect(none.text).toContain("none of these words are in it");
  });

  test("is found in scripts without blanks between words", async () => {
    put(
      "a.txt",
      `${"別の段落。".repeat(60)}\n\n支払期限は三十日です。\n\n${"別の段落。".repeat(60)}`,
    );
    const { text } = await ask({ path: "a.txt", query: "支払期限" });
    expect(text.split("\n\n")[1]).toMatch(/支払期限は三十日です。/);
  });

  test("holds no characters that drive terminals or hide words", async () => {
    put("a.txt", "a\u001b[31mred\u001b[0m\u202eb\u0007\u{e0041}");
    expect((await ask({ path: "a.txt" })).text).toMatch(/\naredb$/);
  });
});

test("what is not a document is said to be none", async () => {
  put("empty.pdf", "");
  put("a.png", Buffer.from("89504e470d0a1a0a0000", "hex"));
  put("old.doc", Buffer.from("d0cf11e0a1b11ae10000", "hex"));
  put("big.txt", Buffer.alloc(20 * 1024 * 1024 + 1, "x"));
  expect((await ask({ path: "empty.pdf" })).text).toBe("empty.pdf is empty.");
  expect((await ask({ path: "a.png" })).text).toContain("is no document (10 bytes, binary)");
  expect((await ask({ path: "old.doc" })).text).toContain("save it as DOCX or PDF");
  expect((await ask({ path: "big.txt" })).text).toContain("more than 20 MB");
  expect((await ask({ path: "missing.pdf" })).text).toContain("There is no");
  put("a.txt", "x");
  expect((await ask({ path: "a.txt", page: 2 })).text).toContain("has no pages");
});

test("nothing outside the workspace is read, by any path", async () => {
  const outside = testFolder();
  writeFileSync(join(outside, "secret.txt"), "secret");
  symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
  mkdirSync(join(root, "folder"));
  for (const path of [join(outside, "secret.txt"), "../x.pdf", "link.txt", "folder/../../x"]) {
    expect(() => documentQuery.preflight?.({ path }, contextOf())).toThrow();
    await expect(ask({ path })).rejects.toMatchObject({ rule: expect.stringMatching(/^path_/) });
  }
  await expect(ask({ path: "a" }, { workspace: null })).rejects.toMatchObject({
    rule: "no_workspace",
  });
});

test("a cancelled call ends at once", async () => {
  put("a.txt", "x");
  await expect(ask({ path: "a.txt" }, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
});
