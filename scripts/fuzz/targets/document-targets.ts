import assert from "node:assert/strict";
import fc from "fast-check";
import { loadSkills } from "../../../src/agents/skills/skill-registry.ts";
import { checkZip } from "../../../src/tools/documents/check-zip.ts";
import { DocumentProblem } from "../../../src/tools/documents/document-request.ts";
import { htmlToMarkdown } from "../../../src/tools/documents/html-to-markdown.ts";
import {
  makeDocx,
  makePdf,
  paragraph,
} from "../../../src/tools/documents/make-documents.test-support.ts";
import { decodeText } from "../../../src/tools/documents/open-document.ts";
import { readDocument } from "../../../src/tools/documents/read-document.ts";
import { kindOfFile } from "../../../src/tools/documents/sniff-kind.ts";
import { cleanText } from "../../../src/tools/mcp/clean-text.ts";
import { assertShown } from "../expect-refusal.ts";
import { mutated, mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";

const html = [
  "<html><head><title>T</title><base href='https://a.b/'></head><body><main><h1>One</h1><p>Some <b>bold</b> <a href='../x'>link</a><ul><li>a<li>b</ul><table><tr><td>1<td>2</table><pre>x\ny</pre></main></body></html>",
  "<p><a href=\"javascript:alert(1)\">x</a><img src=x onerror=y><script>var a = '</p>'</script><style>p{}</style><!-- c -->",
];
const tags = [
  "<table>",
  "<td colspan=99999>",
  "<li>",
  "<ul>",
  "<blockquote>",
  "<pre>",
  "</",
  "<a href=",
  "<![CDATA[",
  "<!--",
  "&#x0;",
  "&#x202e;",
  "&amp;",
  "<svg>",
  "<template>",
  "<script>",
];

export const webPages = defineTarget({
  name: "web-pages",
  surface: "documents",
  promise: "a page becomes text with nothing in it to obey, whatever its markup is",
  caseMs: 2000,
  cases: 300,
  open: () => ({
    inputs: fc.record({ source: mutatedText(html, tags), isPlain: fc.boolean() }),
    async check({ isPlain, source }) {
      const { text, title } = await htmlToMarkdown(source, { isPlain, base: "https://a.b/c/" });
      assert.ok(!/\]\(\s*(?:javascript|data|vbscript):/i.test(text), text.slice(0, 300));
      assertShown(cleanText(`${title}\n${text}`, 1_000_000));
    },
  }),
});

export const officeFiles = defineTarget({
  name: "office-files",
  surface: "documents",
  promise: "a damaged PDF or Word file ends in text or in a sentence, in a process of its own",
  caseMs: 15_000,
  cases: 4,
  open() {
    const pdf = makePdf([["one", "two"], ["three"]]);
    const docx = makeDocx(paragraph("one") + paragraph("two", "Heading1"));
    const { signal } = new AbortController();
    const view = { kind: "window", page: 1, offset: 0, limit: 1000 } as const;
    return {
      inputs: fc.oneof(
        fc.record({
          kind: fc.constant("pdf" as const),
          bytes: mutated(
            [pdf],
            [
              "/Kids [2 0 R]",
              "/Length 99999999",
              "/Filter /FlateDecode",
              "<< /Type /Page >>",
              "stream\n",
              "endobj",
              "%PDF-1.7",
            ],
          ),
        }),
        fc.record({ kind: fc.constant("docx" as const), bytes: mutated([docx]) }),
      ),
      async check({ bytes, kind }) {
        const reply = await readDocument({ kind, format: "markdown", view }, bytes, {
          signal,
          limits: { timeMs: 8000 },
        });
        assert.ok(reply.kind === "window" || reply.kind === "problem");
        assertShown(
          reply.kind === "window" ? reply.text : reply.kind === "problem" ? reply.text : "",
        );
      },
    };
  },
});

export const archives = defineTarget({
  name: "archives",
  surface: "documents",
  promise: "an archive is refused before it is unpacked, or it is what its directory says",
  cases: 300,
  open() {
    const docx = makeDocx(paragraph("one") + paragraph("two", "Heading1"));
    return {
      inputs: mutated([docx], ["PK\u0001\u0002", "PK\u0003\u0004", "PK\u0005\u0006"]),
      check(bytes: Buffer) {
        kindOfFile("a.docx", bytes);
        decodeText(bytes, "utf-16le");
        decodeText(bytes, bytes.toString("latin1", 0, 20));
        try {
          checkZip(bytes);
        } catch (error) {
          if (!(error instanceof DocumentProblem)) throw error;
        }
      },
    };
  },
});

const skill =
  "---\nname: writing\ndescription: For letters.\nallowed-tools: Read\ndisable-model-invocation: true\n---\n\nWrite plainly.\n";

export const skillFiles = defineTarget({
  name: "skill-files",
  surface: "documents",
  promise:
    "a SKILL.md is listed or a problem with its file, its neighbours load, and what is hidden stays so",
  cases: 250,
  open() {
    const folder = new TestFolder();
    folder.write("good/SKILL.md", "---\ndescription: Good.\n---\n\nBe good.\n");
    return {
      inputs: mutated(
        [skill, skill.replace("disable-model-invocation: true\n", "")],
        ["---\n", "name: ../x\n", "description: |\n", "disable-model-invocation", ": false"],
      ),
      async check(bytes: Buffer) {
        folder.write("any/SKILL.md", bytes);
        const registry = loadSkills({ directories: [{ path: folder.path, origin: "user" }] });
        assert.ok(registry.get("good") || /name: *["']?good/.test(bytes.toString("latin1")));
        for (const { message } of registry.problems)
          assert.ok(message.includes(folder.path), message);
        for (const { name } of registry.all()) {
          assert.match(name, /^[\p{L}\p{M}\p{N}._-]+$/u);
          assert.equal(typeof (await registry.read(name)), "string");
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});
