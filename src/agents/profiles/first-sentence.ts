import { headOf } from "../../text.ts";

const maximumLength = 200;

/**
 * The first sentence of a prompt, for profiles without a description that a parent has to choose from
 * by something. Headings say less than the text below them, and count where there is no text.
 */
export function firstSentence(prompt: string): string {
  const lines = prompt
    .slice(0, 4000)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
  const line = lines.find((each) => !/^(?:#|<|```|~~~)/.test(each)) ?? lines[0] ?? "";
  const text = line.replace(/^(?:[#>*+\s-]|\d+[.)]\s)+/, "").replaceAll(/\*\*|__|`/g, "");
  const sentence = /^.{1,200}?[.!?。！？](?=\s|$)/u.exec(text)?.[0];
  return (sentence ?? headOf(text, maximumLength)).trim();
}
