/** Never text for a reader: code, controls, and what other programs draw. */
export const droppedNames: ReadonlySet<string> = new Set(
  (
    "script style noscript template iframe object embed svg canvas video audio map head title " +
    "link meta base input select textarea button datalist progress meter dialog annotation"
  ).split(" "),
);

export const blockNames: ReadonlySet<string> = new Set(
  (
    "html body main article section nav aside header footer address div p pre blockquote ul ol " +
    "li dl dt dd table thead tbody tfoot tr td th caption figure figcaption details summary form " +
    "fieldset legend h1 h2 h3 h4 h5 h6 hr center menu hgroup search"
  ).split(" "),
);

/** What surrounds the content of a page on every page of the site. */
export const surroundingNames: ReadonlySet<string> = new Set(["nav", "header", "footer", "aside"]);

export const surroundingRoles: ReadonlySet<string> = new Set(
  "navigation banner contentinfo complementary search".split(" "),
);
