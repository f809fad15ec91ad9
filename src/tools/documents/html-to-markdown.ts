import { parseHtml } from "./html-tree.ts";
import { findMainContent } from "./main-content.ts";
import { MarkdownWriter } from "./markdown-writer.ts";

export interface HtmlOptions {
  /** Plain text instead: no marks, links by their words alone. */
  readonly isPlain: boolean;
  /** Where the page came from; without it links stay as they are. */
  readonly base?: string | undefined;
}

export interface ConvertedHtml {
  readonly title: string;
  readonly text: string;
}

/** The content of a page as Markdown, for readers that are not browsers. */
export async function htmlToMarkdown(source: string, options: HtmlOptions): Promise<ConvertedHtml> {
  const { root, title, base } = await parseHtml(source);
  const { element, leaves } = findMainContent(root);
  const { isPlain } = options;
  const writer = new MarkdownWriter({ leaves, isPlain, base: startOfLinks(options.base, base) });
  const text = writer.write(element);
  const needsTitle = title !== "" && !isPlain && !/^# \S/m.test(text.slice(0, 5000));
  return { title, text: needsTitle ? `# ${title}\n\n${text}` : text };
}

function startOfLinks(address: string | undefined, declared: string | undefined) {
  if (declared === undefined) return address;
  return URL.parse(declared, address)?.href ?? address;
}
