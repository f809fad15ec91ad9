import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { MarkdownBlocks } from "./markdown-blocks.tsx";
import { safeLink } from "./safe-link.ts";

/** Without class names, which are for the eye. */
function render(text: string): string {
  const html = renderToStaticMarkup(createElement(MarkdownBlocks, { text }));
  return html.replaceAll(/ class="[^"]*"/g, "");
}

it("An agent's Markdown becomes elements: headings of one level, lists, tasks, tables, code", () => {
  expect(render("# A *b*")).toBe('<h3 dir="auto">A <em>b</em></h3>');
  expect(render("- one\n- [x] two")).toBe(
    '<ul><li dir="auto">one</li><li dir="auto"><span role="img" aria-label="done">☑</span><div>two</div></li></ul>',
  );
  expect(render("3. x")).toBe('<ol start="3"><li dir="auto">x</li></ol>');
  const table = render("|a|b|\n|-|-:|\n|1|`2`|");
  expect(table).toContain('<th dir="auto" scope="col">a</th>');
  expect(table).toContain('<td dir="auto"><code>2</code></td>');
  expect(render("```ts\nconst a = 1;\n```")).toContain(
    "<code><span>const</span> a = <span>1</span>;</code>",
  );
  expect(render("> a\n> b")).toBe('<blockquote><p dir="auto">a<br/>b</p></blockquote>');
});

it("A link says where it leads, and only http, https and mailto can be followed", () => {
  const link = render("[docs](https://a.example/b?c)");
  expect(link).toContain('href="https://a.example/b?c"');
  expect(link).toContain('rel="noreferrer noopener nofollow"');
  expect(link).toContain("(https://a.example/b?c)");
  expect(render("<https://a.example/>")).not.toContain("(https");
  expect(render("[https://bank.example](https://evil.example)")).toContain(
    "(https://evil.example/)",
  );
  expect(render("[](https://a.example)")).toContain(">https://a.example/</a>");
  for (const address of [
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example",
    "/delegations/a",
    "docs/a.md",
    "blob:https://a.example/x",
    "intent://x",
    "https://bank.example@evil.example/",
    "https://",
    `https://a.example/${"a".repeat(3000)}`,
  ]) {
    expect(safeLink(address)).toBeNull();
    expect(render(`[x](<${address}>)`)).not.toContain("<a ");
  }
});

it("An image is not loaded, HTML is text, and what cannot be parsed is shown", () => {
  const image = render("![seen](https://evil.example/p.png?u=1)");
  expect(image).toContain("Image: seen");
  expect(image).not.toContain("<img");
  expect(render("<img src=x onerror=alert(1)>")).toContain("&lt;img src=x onerror=alert(1)&gt;");
  expect(render("[a]: javascript:x\n\n[a]")).not.toContain("<a ");
  expect(render(`${">".repeat(200)} deep`)).toContain("deep");
});
