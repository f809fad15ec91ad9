import { Fragment, type ReactNode } from "react";
import type { Tokens } from "../../../../src/surfaces/cli/markdown/parse-markdown.ts";
import { clip } from "../../../../src/text.ts";
import { safeLink, saysAddress } from "./safe-link.ts";

const marks = { strong_open: "strong", em_open: "em", s_open: "s" } as const;
const longestShown = 120;

/** The text of a paragraph, a heading or a cell. */
export function MarkdownInline({ tokens }: { readonly tokens: Tokens }): ReactNode {
  const parts: ReactNode[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) break;
    const end = token.nesting === 1 ? endOf(tokens, at) : at;
    parts.push(
      <Fragment key={at}>{drawPart(token, tokens.slice(at + 1, Math.max(end, at + 1)))}</Fragment>,
    );
    at = end;
  }
  return parts;
}

/** Where the token that closes the one at `from` stands. */
function endOf(tokens: Tokens, from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at += 1) {
    depth += tokens[at]?.nesting ?? 0;
    if (depth <= 0) return at;
  }
  return tokens.length;
}

function drawPart(token: Tokens[number], inner: Tokens): ReactNode {
  switch (token.type) {
    case "softbreak":
    case "hardbreak":
      return <br />;
    case "code_inline":
      return (
        <code className="rounded-sm bg-hover px-1 font-mono text-xs wrap-anywhere">
          {token.content}
        </code>
      );
    case "link_open":
      return (
        <Address address={String(token.attrGet("href") ?? "")} label={labelOf(inner)}>
          <MarkdownInline tokens={inner} />
        </Address>
      );
    case "image": {
      // Loading an image tells its server that the text was read, and from which address.
      const label = token.content;
      return (
        <Address address={String(token.attrGet("src") ?? "")} label={label}>
          Image{label === "" ? "" : `: ${label}`}
        </Address>
      );
    }
    case "strong_open":
    case "em_open":
    case "s_open": {
      const Mark = marks[token.type];
      return (
        <Mark>
          <MarkdownInline tokens={inner} />
        </Mark>
      );
    }
    default:
      return token.content;
  }
}

function labelOf(tokens: Tokens): string {
  return tokens.map(({ content }) => content).join("");
}

interface AddressProps {
  readonly address: string;
  readonly label: string;
  readonly children: ReactNode;
}

/** Where it leads is always readable. What a person may not follow is text. */
function Address({ address, label, children }: AddressProps) {
  const href = safeLink(address);
  const shown = href ?? address;
  const said = saysAddress(label, shown) ? null : (
    <bdi className="text-soft wrap-anywhere" title={shown}>
      {` (${clip(shown, longestShown)})`}
    </bdi>
  );
  if (href === null) {
    return (
      <>
        {children}
        {said}
      </>
    );
  }
  return (
    <>
      <a
        href={href}
        target="_blank"
        rel="noreferrer noopener nofollow"
        className="text-accent underline wrap-anywhere"
      >
        {label.trim() === "" ? shown : children}
      </a>
      {said}
    </>
  );
}
