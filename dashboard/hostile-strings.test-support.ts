/** Texts that would execute something, load something or lead somewhere, were they more than text. */

const script = "alert(1)";

const elements = [
  `<script>${script}</script>`,
  `<img src=x onerror=${script}>`,
  `<svg/onload=${script}>`,
  `<svg><animate onbegin=${script} attributeName=x dur=1s>`,
  `<svg><script href="data:text/javascript,${script}"></script></svg>`,
  `<iframe srcdoc="<script>parent.${script}</script>"></iframe>`,
  `<iframe src="javascript:${script}"></iframe>`,
  `<object data="javascript:${script}"></object>`,
  `<embed src="javascript:${script}">`,
  `<body onload=${script}>`,
  `<input autofocus onfocus=${script}>`,
  `<details open ontoggle=${script}>`,
  `<video><source onerror=${script}></video>`,
  `<audio src=x onerror=${script}>`,
  `<marquee onstart=${script}>`,
  `<math><mtext><script>${script}</script></mtext></math>`,
  `<form action="javascript:${script}"><button>go</button></form>`,
  `<a href="javascript:${script}">go</a>`,
  `<base href="https://evil.example/">`,
  `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<link rel=stylesheet href="https://evil.example/a.css">`,
  `<style>@import "https://evil.example/b.css"</style>`,
  `<template><img src=x onerror=${script}></template>`,
  `<noscript><img src=x onerror=${script}></noscript>`,
];

/** Out of an attribute, a text area, a comment, a title, JSON in a script. */
const escapes = ["", '">', "'>", "</textarea>", "-->", "</title>", "</script>"];

const addresses = [
  `javascript:${script}`,
  `JaVaScRiPt:${script}`,
  `java\tscript:${script}`,
  `\u0001javascript:${script}`,
  `javascript&colon;${script}`,
  `&#106;avascript:${script}`,
  `data:text/html,<script>${script}</script>`,
  "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
  `vbscript:${script}`,
  "//evil.example/x",
  "file:///etc/passwd",
  "blob:https://evil.example/x",
  "https://bank.example@evil.example/",
];

const markdown = [
  (address: string) => `[go](${address})`,
  (address: string) => `[go](<${address}>)`,
  (address: string) => `![seen](${address})`,
  (address: string) => `<${address}>`,
];

const others = [
  "```js\n</code></pre><script>alert(1)</script>\n```",
  "`</code><img src=x onerror=alert(1)>`",
  '| <img src=x onerror=alert(1)> | "onmouseover=alert(1) |\n|-|-|\n| 1 | 2 |',
  "- [x] <svg/onload=alert(1)>",
  "[a]: javascript:alert(1)\n\n[a]",
  "![tracking](https://evil.example/pixel.png?who=you)",
  '[x](https://evil.example "onmouseover=alert(1)")',
  "{{constructor.constructor('alert(1)')()}}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder that nothing may fill.
  "${alert(1)}",
  "\u202e<script>alert(1)</script>\u202c",
  "diff --git a/<img src=x onerror=alert(1)> b/x\n@@ -1 +1 @@\n-<script>alert(1)</script>\n+x",
];

export const hostileStrings: readonly string[] = [
  ...escapes.flatMap((closing) => elements.map((element) => closing + element)),
  ...markdown.flatMap((form) => addresses.map(form)),
  ...others,
];
