import type { Token } from "markdown-it";
import { type Span, spanOf } from "./spans.ts";

/** How a terminal shows links and code without colours. */
export interface InlineLook {
  /** The terminal is known to open links (OSC 8). */
  readonly hasLinks: boolean;
  readonly isColoured: boolean;
}

/**
 * The inline tokens of a paragraph, a heading or a cell as spans. The address of a link is shown, unless
 * the terminal can open the link and its text does not look like another address.
 */
export function inlineSpans(
  tokens: readonly Token[],
  look: InlineLook,
  tones: Span["tones"] = [],
): readonly Span[] {
  const spans: Span[] = [];
  const open: (keyof typeof tonesOf)[] = [];
  let link: { readonly href: string; readonly from: number } | undefined;
  for (const token of tokens) {
    const active = [...tones, ...open.map((type) => tonesOf[type])];
    const linked = link === undefined ? active : [...active, "underlined" as const];
    const href = look.hasLinks && link !== undefined && isWeb(link.href) ? link.href : undefined;
    switch (token.type) {
      case "softbreak":
      case "hardbreak":
        spans.push({ text: "\n", tones: [] });
        break;
      case "code_inline":
        spans.push(
          spanOf(look.isColoured ? token.content : `\`${token.content}\``, ["accent"], href),
        );
        break;
      case "link_open":
        link = { href: addressOf(token, "href"), from: spans.length };
        break;
      case "link_close": {
        if (link === undefined) break;
        const text = spans
          .slice(link.from)
          .map((span) => span.text)
          .join("");
        if (
          !saysAddress(text, link.href) &&
          (!look.hasLinks || !isWeb(link.href) || looksLikeAddress(text))
        )
          spans.push(spanOf(` (${link.href})`, ["dim"]));
        link = undefined;
        break;
      }
      case "image": {
        const text = token.content === "" ? "image" : token.content;
        spans.push(
          spanOf(text, [...active, "emphasis"]),
          spanOf(` (${addressOf(token, "src")})`, ["dim"]),
        );
        break;
      }
      default:
        if (isMark(token.type)) open.push(token.type);
        else if (token.nesting === -1) open.pop();
        else spans.push(spanOf(token.content, linked, href));
    }
  }
  return spans;
}

const tonesOf = { strong_open: "strong", em_open: "emphasis", s_open: "struck" } as const;

function isMark(type: string): type is keyof typeof tonesOf {
  return Object.hasOwn(tonesOf, type);
}

function addressOf(token: Token, name: string): string {
  return spanOf(String(token.attrGet(name) ?? "")).text.replaceAll(/\s/g, "%20");
}

function isWeb(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)[!-~]+$/i.test(href);
}

function saysAddress(text: string, href: string): boolean {
  const plain = (address: string) => address.replace(/^mailto:/i, "").replace(/\/$/, "");
  return plain(text.trim()) === plain(href);
}

/** Whether a text looks like an address, also by letters of other scripts that look like a dot or a slash. */
function looksLikeAddress(text: string): boolean {
  return text.trim() === "" || /[./@]\w/.test(text.normalize("NFKC"));
}
