import { describe, expect, it } from "vitest";
import { hideValues } from "./clean-text.ts";
import { renderResult } from "./render-result.ts";

const asIs = (text: string): string => text;
type Content = Parameters<typeof renderResult>[0]["content"];
const said = (text: string): Content[number] => ({ type: "text", text });

describe("what a model reads of an answer", () => {
  it("is its text, and structure only where there is none", () => {
    const structuredContent = { a: 1 };
    expect(renderResult({ content: [said("x"), said("y")], structuredContent }, asIs)).toEqual({
      text: "x\ny",
    });
    expect(renderResult({ content: [], structuredContent }, asIs)).toEqual({ text: '{"a":1}' });
    expect(renderResult({ content: [] }, asIs)).toEqual({ text: "(no output)" });
    expect(renderResult({ content: [], isError: true }, asIs)).toEqual({
      text: "The tool failed and did not say why.",
      isError: true,
    });
  });

  it("is a line for what is no text, and the text of a resource that is", () => {
    const content: Content = [
      { type: "audio", data: "AAA=", mimeType: "audio/\u001b[31mwav" },
      { type: "resource", resource: { uri: "file:///b", blob: "AAAA", mimeType: "x/y" } },
      { type: "resource", resource: { uri: "file:///t", text: "inside" } },
    ];
    expect(renderResult({ content }, asIs).text).toBe(
      [
        "[audio, audio/wav, 2 bytes: not shown]",
        "[resource file:///b, x/y, 3 bytes: not shown]",
        "[resource file:///t, of no stated type, 6 bytes]",
        "inside",
      ].join("\n"),
    );
  });

  it("never holds a secret that the server was given", () => {
    const result = renderResult(
      { content: [said("key=hush-hush;")], isError: true },
      hideValues(["hush-hush"]),
    );
    expect(result.text).toBe("key=[redacted];");
  });
});
