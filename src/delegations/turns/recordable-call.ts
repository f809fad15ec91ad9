import type { ToolCall } from "../../ports/model.ts";

const deepest = 200;

/** What cannot be written down cannot be judged, replayed or verified: it is a malformed call. */
export function recordableCall(call: ToolCall): ToolCall {
  if (call.malformed !== undefined) return call;
  try {
    const text = JSON.stringify(call.input) ?? "";
    if (depthOf(text) <= deepest) return call;
  } catch {
    // A circle, or a number that JSON does not have.
  }
  return {
    id: call.id,
    name: call.name,
    input: undefined,
    malformed: "not plain JSON, or nested too deep",
  };
}

function depthOf(json: string): number {
  if (json.length < deepest) return 0;
  let depth = 0;
  let most = 0;
  for (const character of json) {
    if (character === "{" || character === "[") most = Math.max(most, ++depth);
    else if (character === "}" || character === "]") depth--;
  }
  return most;
}
