import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";

const base = "https://example.org/docs/guide/";

async function markdown(html: string): Promise<string> {
  return (await htmlToMarkdown(html, { isPlain: false, base })).text;
}

async function plain(html: string): Promise<string> {
  return (await htmlToMarkdown(html, { isPlain: true, base })).text;
}

test("headings, paragraphs, emphasis, lists, quotations and rules keep their meaning", async () => {
  const text = await markdown(
    "<h1>One</h1><p>Some <b> bold </b>and <em>soft</em>\n words<br>on two lines</p>" +
      "<ol start=3><li>three<ul><li>inner</ul><li><p>four</p></ol><hr>" +
      "<blockquote><p>said</p><p>again</p></blockquote>",
  );
  expect(text).toBe(
    "# One\n\nSome **bold** and _soft_ words\non two lines\n\n3. three\n   - inner\n4. four\n\n---\n\n" +
      "> said\n>\n> again",
  );
});

test("links become absolute, and those that lead nowhere or run something keep their words", async () => {
  const text = await markdown(
    '<p><a href="../api?a=1&amp;b=(2)">api</a> <a href="#top">top</a> ' +
      '<a href="javascript:alert(1)">run</a> <a href="data:text/html,x">data</a> ' +
      '<a href="//cdn.example.net/x">cdn</a> <a href="/x"></a><img src="p.png" alt="a plot">' +
      '<img src="pixel.gif"> <a href="https://e.org/">https://e.org/</a></p>',
  );
  expect(text).toBe(
    "[api](https://example.org/docs/api?a=1&b=%282%29) top run data " +
      "[cdn](https://cdn.example.net/x) ![a plot](https://example.org/docs/guide/p.png) " +
      "https://e.org/",
  );
});

test("a page's own base is what its links start from", async () => {
  const html = '<head><base href="/other/"></head><p><a href="x">x</a></p>';
  expect(await markdown(html)).toBe("[x](https://example.org/other/x)");
});

test("tables stay tables: header, spans, bars inside cells, captions", async () => {
  const text = await markdown(
    "<table><caption>Sizes</caption><thead><tr><th>name<th>a|b<tbody>" +
      "<tr><td><a href=/x>x</a><td>1<br>2<tr><td colspan=2>all</table>",
  );
  expect(text).toBe(
    "Sizes\n\n| name | a\\|b |\n| --- | --- |\n| [x](https://example.org/x) | 1 2 |\n| all |  |",
  );
  expect(await plain("<table><tr><th>a<th>b<tr><td>1<td>2</table>")).toBe("a\tb\n1\t2");
});

test("a table that only arranges the page is read as what is in it", async () => {
  const html = "<table><tr><td><table><tr><td>a<td>b</table><td><h2>Right</h2>text</table>";
  expect(await markdown(html)).toBe("| a | b |\n| --- | --- |\n\n## Right\n\ntext");
});

test("code keeps its lines, its language, and a fence that its content cannot close", async () => {
  const html =
    '<pre class="x"><code class="language-ts">const a = "```";\n\n  b &lt; c</code></pre>';
  expect(await markdown(html)).toBe('````ts\nconst a = "```";\n\n  b < c\n````');
  expect(await markdown("<p>use <code>a  b</code> now")).toBe("use `a b` now");
});

test("the content comes without navigation, scripts, styles, forms and what people cannot see", async () => {
  const content = "All of the content of this page, in words enough to be one. ".repeat(5).trim();
  const html =
    "<!doctype html><html><head><title>Title &amp; more</title><style>p{}</style></head><body>" +
    "<header>Site</header><nav><a href=/>Home</a></nav><main><nav>Local</nav>" +
    `<h2>Part</h2><p>${content}</p><script>evil()</script><p hidden>HIDDEN</p>` +
    '<div style="color:red; display : none">HIDDEN</div><span aria-hidden="true">HIDDEN</span>' +
    "<!-- HIDDEN --><template>HIDDEN</template><noscript>HIDDEN</noscript>" +
    "<form><input value=HIDDEN><button>HIDDEN</button></form></main>" +
    "<aside>Related</aside><footer>Imprint</footer></body></html>";
  expect(await markdown(html)).toBe(`# Title & more\n\n## Part\n\n${content}`);
});

test("a page without marked content is all of it but its surroundings; a short one is all of it", async () => {
  const words = "words ".repeat(60).trim();
  const page = `<nav>menu</nav><div><p>${words}</p></div><footer>imprint</footer>`;
  expect(await markdown(page)).toBe(words);
  expect(await markdown("<header>everything is up here, in the header</header><p>x")).toBe(
    "everything is up here, in the header\n\nx",
  );
});

test("markup without html, head or body, and markup that closes what was never open, is read", async () => {
  expect(await markdown("<title>T</title><p>a<p>b</div></body></html><p>c")).toBe(
    "# T\n\na\n\nb\n\nc",
  );
});

test("plain text has the words without the marks", async () => {
  const html = '<h1>One</h1><p>a <b>b</b> <a href="/x">c</a></p><pre>x\n  y</pre><ul><li>i</ul>';
  expect(await plain(html)).toBe("One\n\na b c\n\nx\n  y\n\n- i");
});

test("what is nested a thousand deep is flattened, not dropped and not fatal", async () => {
  const depth = 5000;
  const html = `${"<div>".repeat(depth)}inside${"</div>".repeat(depth)}<p>after</p>`;
  expect(await markdown(html)).toBe("inside\n\nafter");
});

test("any soup of tags is converted without a fault, and no script survives", async () => {
  const names = ["p", "b", "table", "tr", "td", "ul", "li", "pre", "a", "script", "style", "x-y"];
  const piece = fc.oneof(
    fc.constantFrom(...names).map((name) => `<${name} href="javascript:x" class=a>`),
    fc.constantFrom(...names).map((name) => `</${name}>`),
    fc.constantFrom(
      "<",
      "<!--",
      "-->",
      "&amp;",
      "&#0;",
      "]]>",
      "<!doctype",
      '"',
      "<a href=/__proto__>",
    ),
    fc.string({ maxLength: 5 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
      const text = await markdown(`${pieces.join("")}<script>stolen()</script>`);
      expect(text).not.toContain("](javascript:");
    }),
    { numRuns: cases(500) },
  );
});
