import { useEffect, useState } from "react";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { client } from "../../data/client.ts";

export type Candidate = Operations["completeCommand"]["reply"]["items"][number];

const none: readonly Candidate[] = [];
const restMs = 60;
const longestPrefix = 4000;

/** What a text that begins with a slash could become. */
export function useCompletion(text: string): readonly Candidate[] {
  const [items, setItems] = useState(none);
  const isCommand = text.startsWith("/") && !text.includes("\n") && text.length <= longestPrefix;
  useEffect(() => {
    if (!isCommand) {
      setItems(none);
      return;
    }
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const reply = await client.completeCommand({ prefix: text }, { signal: ending.signal });
        setItems(reply.items.filter((item) => item.text !== text));
      } catch {
        // Nobody asked for it: who is not helped types on.
        if (!ending.signal.aborted) setItems(none);
      }
    }, restMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text, isCommand]);
  return items;
}
