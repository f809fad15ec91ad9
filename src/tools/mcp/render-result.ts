import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Redact } from "../../ports/redact-secrets.ts";
import type { ToolResult } from "../tool.ts";
import { cleanLine } from "./clean-text.ts";

type Part = CallToolResult["content"][number];

/**
 * What a model reads of a server's answer: the text as it is, and a line for everything that is no
 * text. Structure is written out only where there is no text that says it.
 */
export function renderResult(result: CallToolResult, hide: Redact): ToolResult {
  const parts = result.content.map(renderPart);
  const hasText = result.content.some(({ type }) => type === "text" || type === "resource");
  if (!hasText && result.structuredContent !== undefined) {
    parts.push(JSON.stringify(result.structuredContent));
  }
  const text = hide(parts.join("\n"));
  if (!result.isError) return { text: text === "" ? "(no output)" : text };
  return { text: text === "" ? "The tool failed and did not say why." : text, isError: true };
}

function renderPart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return `[${part.type}, ${mimeType(part.mimeType)}, ${decodedBytes(part.data)} bytes: not shown]`;
    case "resource_link":
      return `[link to a resource: ${cleanLine(part.name, 200)}, ${mimeType(part.mimeType)}, ${cleanLine(part.uri, 500)}]`;
    case "resource":
      return renderResource(part.resource);
    default:
      return `[a part of an unknown kind: not shown]`;
  }
}

function renderResource(resource: Extract<Part, { type: "resource" }>["resource"]): string {
  const about = `${cleanLine(resource.uri, 500)}, ${mimeType(resource.mimeType)}`;
  if ("text" in resource) {
    return `[resource ${about}, ${Buffer.byteLength(resource.text)} bytes]\n${resource.text}`;
  }
  return `[resource ${about}, ${decodedBytes(resource.blob)} bytes: not shown]`;
}

function mimeType(type: string | undefined): string {
  return type === undefined ? "of no stated type" : cleanLine(type, 100);
}

function decodedBytes(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}
