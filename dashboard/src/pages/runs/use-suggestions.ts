import { useEffect, useState } from "react";
import { client } from "../../data/client.ts";
import { type Mention, mentionAt, withMention } from "./mention-at.ts";

/** Something that what was typed could become. */
export interface Suggestion {
  /** The suggestion as it is shown. */
  readonly label: string;
  readonly description: string;
  /** What the whole text is then. */
  readonly text: string;
  readonly caret: number;
  readonly kind: "command" | "file";
}

const none: readonly Suggestion[] = [];
const restMs = 60;
const longestPrefix = 4000;

/** Slash commands at the beginning of a text, and files wherever one is mentioned. */
export function useSuggestions(
  text: string,
  caret: number,
  workspace: string | undefined,
): readonly Suggestion[] {
  const [items, setItems] = useState(none);
  const isCommand = text.startsWith("/") && !text.includes("\n") && text.length <= longestPrefix;
  const mention = isCommand ? null : mentionAt(text, caret);
  const wanted = mention?.wanted;
  const from = mention?.from;
  useEffect(() => {
    if (!isCommand && wanted === undefined) {
      setItems(none);
      return;
    }
    const ending = new AbortController();
    const { signal } = ending;
    const timer = setTimeout(async () => {
      try {
        const found =
          wanted === undefined || from === undefined
            ? await suggestCommands(text, workspace, signal)
            : await suggestFiles(text, { from, to: caret, wanted }, workspace, signal);
        if (!signal.aborted) setItems(found);
      } catch {
        // Suggestions are optional: without them the person types on.
        if (!signal.aborted) setItems(none);
      }
    }, restMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, caret, isCommand, wanted, from, workspace]);
  return items;
}

async function suggestCommands(
  prefix: string,
  workspace: string | undefined,
  signal: AbortSignal,
): Promise<readonly Suggestion[]> {
  const { items } = await client.completeCommand({ prefix, workspace }, { signal });
  return items
    .filter(({ text }) => text !== prefix)
    .map(({ description, text }) => {
      return {
        label: text,
        description,
        text: `${text} `,
        caret: text.length + 1,
        kind: "command",
      };
    });
}

async function suggestFiles(
  text: string,
  mention: Mention,
  workspace: string | undefined,
  signal: AbortSignal,
): Promise<readonly Suggestion[]> {
  const { items } = await client.findFiles({ q: mention.wanted, workspace }, { signal });
  return items.map(({ path }) => {
    return { label: path, description: "", ...withMention(text, mention, path), kind: "file" };
  });
}
