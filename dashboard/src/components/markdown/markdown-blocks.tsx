import { Fragment, memo, type ReactNode } from "react";
import { highlightCode } from "../../../../src/surfaces/cli/markdown/highlight-code.ts";
import {
  blocksOf,
  checkOf,
  parseMarkdown,
  type Tokens,
} from "../../../../src/surfaces/cli/markdown/parse-markdown.ts";
import { CopyButton } from "../copy-button.tsx";
import { MarkdownInline } from "./markdown-inline.tsx";

/**
 * An agent's text as elements: no part of it becomes HTML, an attribute other than a checked address, or
 * a request. `text` has no hidden characters any more.
 */
export const MarkdownBlocks = memo(({ text }: { readonly text: string }) => {
  const tokens = parseMarkdown(text);
  if (tokens === null) return <p className="whitespace-pre-wrap">{text}</p>;
  return <Blocks tokens={tokens} />;
});

function Blocks({ tokens }: { readonly tokens: Tokens }) {
  return blocksOf(tokens).map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name.
    <Block key={index} block={block} />
  ));
}

function Block({ block }: { readonly block: Tokens }): ReactNode {
  const [first] = block;
  const inner = block.slice(1, -1);
  switch (first?.type) {
    case "heading_open":
      return <Heading level={Number(first.tag.slice(1))} tokens={inner} />;
    case "hr":
      return <hr className="my-3 border-line" />;
    case "fence":
    case "code_block":
      return <Code code={first.content.replace(/\n$/, "")} info={first.info} />;
    case "blockquote_open":
      return (
        <blockquote className="my-2 border-l-2 border-edge pl-3 text-soft">
          <Blocks tokens={inner} />
        </blockquote>
      );
    case "bullet_list_open":
      return (
        <ul className="my-1.5 list-disc pl-5">
          <Items tokens={inner} />
        </ul>
      );
    case "ordered_list_open":
      return (
        <ol className="my-1.5 list-decimal pl-7" start={Number(first.attrGet("start") ?? 1)}>
          <Items tokens={inner} />
        </ol>
      );
    case "table_open":
      return <Table tokens={inner} />;
    case "paragraph_open":
      if (first.hidden) return <Inline tokens={inner} />;
      return (
        <p dir="auto" className="my-2 first:mt-0 last:mb-0">
          <Inline tokens={inner} />
        </p>
      );
    default:
      return <Inline tokens={block} />;
  }
}

function Inline({ tokens }: { readonly tokens: Tokens }) {
  return tokens.map(({ children, content }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a block has one of them.
    <Fragment key={index}>
      {children === null ? content : <MarkdownInline tokens={children} />}
    </Fragment>
  ));
}

const sizes = ["text-base", "text-[15px]", "text-sm"];

/** One level for assistive technology: an agent's text does not decide the outline of the page. */
function Heading({ level, tokens }: { readonly level: number; readonly tokens: Tokens }) {
  if (tokens.every(({ content }) => content.trim() === "")) return null;
  return (
    <h3
      dir="auto"
      className={`mt-4 mb-1.5 font-semibold first:mt-0 ${sizes[level - 1] ?? "text-[13px]"}`}
    >
      <Inline tokens={tokens} />
    </h3>
  );
}

function Items({ tokens }: { readonly tokens: Tokens }) {
  return blocksOf(tokens).map((item, index) => {
    const inner = item.slice(1, -1);
    const isChecked = checkOf(item);
    return (
      <li
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name.
        key={index}
        dir="auto"
        className={isChecked === null ? "my-0.5" : "my-0.5 -ml-5 flex list-none gap-2"}
      >
        {isChecked === null ? (
          <Blocks tokens={inner} />
        ) : (
          <>
            <span role="img" aria-label={isChecked ? "done" : "to do"} className="shrink-0">
              {isChecked ? "☑" : "☐"}
            </span>
            <div className="min-w-0 flex-1">
              <Blocks tokens={inner} />
            </div>
          </>
        )}
      </li>
    );
  });
}

const tones: Readonly<Record<string, string>> = {
  dim: "text-soft",
  good: "text-good",
  bad: "text-bad",
  warn: "text-warn",
  accent: "text-accent",
  strong: "font-semibold",
};

function Code({ code, info }: { readonly code: string; readonly info: string }) {
  const [language = "", ...title] = info.trim().split(/\s+/);
  const name = [language, ...title].join(" ").slice(0, 80);
  return (
    <div className="my-2 overflow-hidden rounded-md border border-line bg-page">
      <p className="flex items-center justify-between gap-2 px-3 pt-1 text-xs text-soft">
        <bdi className="truncate font-mono">{name}</bdi>
        <CopyButton text={code} what="the code" />
      </p>
      <pre
        className="overflow-x-auto px-3 pt-0.5 pb-2 font-mono text-xs leading-[18px]"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
        tabIndex={0}
      >
        <code>
          {highlightCode(code, language).map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
            <Fragment key={index}>
              {index > 0 && "\n"}
              {line.map(({ text, tones: [tone = ""] }, place) =>
                tone === "" ? (
                  text
                ) : (
                  // biome-ignore lint/suspicious/noArrayIndexKey: spans have no other name.
                  <span key={place} className={tones[tone]}>
                    {text}
                  </span>
                ),
              )}
            </Fragment>
          ))}
        </code>
      </pre>
    </div>
  );
}

function Table({ tokens }: { readonly tokens: Tokens }) {
  const [head, body] = blocksOf(tokens);
  const rows = [...rowsOf(head), ...rowsOf(body)];
  return (
    <div
      className="my-2 overflow-x-auto"
      role="region"
      aria-label="Table"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
      tabIndex={0}
    >
      <table className="border-collapse">
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name.
            <tr key={index}>
              {blocksOf(row.slice(1, -1)).map((cell, column) => {
                const style = String(cell[0]?.attrGet("style") ?? "");
                const side = /(?:right|center)$/.exec(style)?.[0] ?? "left";
                const Cell = cell[0]?.type === "th_open" ? "th" : "td";
                return (
                  <Cell
                    // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name.
                    key={column}
                    dir="auto"
                    {...(Cell === "th" && { scope: "col" })}
                    className={`border border-line px-2 py-1 align-top ${sides[side]} ${Cell === "th" ? "bg-page font-semibold" : ""}`}
                  >
                    <Inline tokens={cell.slice(1, -1)} />
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const sides: Readonly<Record<string, string>> = {
  left: "text-left",
  center: "text-center",
  right: "text-right",
};

function rowsOf(part: Tokens | undefined): readonly Tokens[] {
  return part === undefined ? [] : blocksOf(part.slice(1, -1));
}
