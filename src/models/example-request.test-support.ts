import type { Message, ModelCaller, ModelRequest } from "../ports/model.ts";

type Overrides = Partial<Omit<ModelRequest, "caller">> & { readonly caller?: Partial<ModelCaller> };

/** A request for tests of models: only what matters to the test is written there. */
export function exampleRequest(overrides: Overrides = {}): ModelRequest {
  return {
    model: "scripted/test",
    system: "",
    messages: [{ role: "user", text: "hello" }],
    tools: [],
    maxOutputTokens: 1000,
    temperature: null,
    signal: new AbortController().signal,
    ...overrides,
    caller: {
      delegationId: "d1",
      profile: "general",
      depth: 0,
      attempt: 1,
      turn: 1,
      try: 1,
      task: "hello",
      ...overrides.caller,
    },
  };
}

export function toolResult(tool: string, text: string, callId = "call_1_1"): Message {
  return { role: "tool", callId, tool, text, isError: false };
}
