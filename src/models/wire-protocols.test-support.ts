/** For tests: one reply in the words of each protocol. */
export interface WireReply {
  readonly text?: string;
  readonly arguments?: string;
  readonly isComplete?: boolean;
  readonly finish?: "stop" | "length";
  readonly usage?: boolean;
}

/** By model: text, then a call of grep when there are arguments, then the end. */
export const protocols: Record<string, (reply: WireReply) => object[]> = {
  "anthropic/claude-sonnet-4-5": anthropicEvents,
  "google/gemini-2.5-flash": geminiEvents,
  "openai/gpt-4.1": responsesEvents,
  "openai-chat/gpt-4.1": chatEvents,
  "local/qwen": chatEvents,
};

function anthropicEvents(reply: WireReply): object[] {
  const { text = "", arguments: input, isComplete = true, finish = "stop", usage = true } = reply;
  const block = { type: "tool_use", id: "call_a", name: "grep", input: {} };
  const counts = usage
    ? { input_tokens: 9, output_tokens: 3 }
    : { input_tokens: 0, output_tokens: 0 };
  const message = { id: "m", model: "claude-sonnet-4-5", role: "assistant", usage: counts };
  const delta = (index: number, value: object) => ({
    type: "content_block_delta",
    index,
    delta: value,
  });
  const events: object[] = [
    { type: "message_start", message: { ...message, type: "message", content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    delta(0, { type: "text_delta", text }),
    { type: "content_block_stop", index: 0 },
  ];
  if (input !== undefined) {
    events.push({ type: "content_block_start", index: 1, content_block: block });
    events.push(delta(1, { type: "input_json_delta", partial_json: input }));
    if (isComplete) events.push({ type: "content_block_stop", index: 1 });
  }
  const reason = input === undefined ? "end_turn" : "tool_use";
  const stop_reason = finish === "length" ? "max_tokens" : reason;
  if (isComplete) {
    events.push({
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: counts,
    });
    events.push({ type: "message_stop" });
  }
  return events;
}

function geminiEvents(reply: WireReply): object[] {
  const { text = "", arguments: args, isComplete = true, finish = "stop", usage = true } = reply;
  // The real one repeats the counts in every event, cut or not.
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 };
  const event = (parts: object[], more: object = {}) => ({
    candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
    modelVersion: "gemini-2.5-flash",
    responseId: "r",
    ...(usage ? { usageMetadata } : {}),
  });
  const events: object[] = [event([{ text }])];
  if (args !== undefined) {
    events.push(event([{ functionCall: { id: "call_a", name: "grep", args } }]));
  }
  if (isComplete) {
    events.push(event([], { finishReason: finish === "length" ? "MAX_TOKENS" : "STOP" }));
  }
  return events;
}

function responsesEvents(reply: WireReply): object[] {
  const { text = "", arguments: input, isComplete = true, finish = "stop", usage = true } = reply;
  const response = { id: "r", created_at: 1, model: "gpt-4.1" };
  const item = { type: "message", id: "i0" };
  const call = {
    type: "function_call",
    id: "i1",
    call_id: "call_a",
    name: "grep",
    status: "completed",
  };
  const events: object[] = [
    { type: "response.created", response },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_text.delta", item_id: "i0", output_index: 0, delta: text },
    { type: "response.output_item.done", output_index: 0, item },
  ];
  if (input !== undefined) {
    const added = { ...call, arguments: "" };
    events.push({ type: "response.output_item.added", output_index: 1, item: added });
    const delta = { item_id: "i1", output_index: 1, delta: input };
    events.push({ type: "response.function_call_arguments.delta", ...delta });
    const done = { ...call, arguments: input };
    if (isComplete) events.push({ type: "response.output_item.done", output_index: 1, item: done });
  }
  if (isComplete) {
    const isShort = finish === "length";
    const end = {
      ...response,
      incomplete_details: isShort ? { reason: "max_output_tokens" } : null,
      usage: usage ? { input_tokens: 9, output_tokens: 3 } : null,
    };
    events.push({ type: isShort ? "response.incomplete" : "response.completed", response: end });
  }
  return events;
}

function chatEvents(reply: WireReply): object[] {
  const { text = "", arguments: input, isComplete = true, finish = "stop", usage = true } = reply;
  const base = { id: "c", created: 1, model: "gpt-4.1", object: "chat.completion.chunk" };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const events: object[] = [chunk({ role: "assistant", content: text })];
  if (input !== undefined) {
    const call = { index: 0, id: "call_a", type: "function" };
    events.push(chunk({ tool_calls: [{ ...call, function: { name: "grep", arguments: "" } }] }));
    events.push(chunk({ tool_calls: [{ index: 0, function: { arguments: input } }] }));
  }
  const reason = input === undefined ? "stop" : "tool_calls";
  if (isComplete) events.push(chunk({}, finish === "length" ? "length" : reason));
  const counts = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  if (isComplete && usage) events.push({ ...base, choices: [], usage: counts });
  return events;
}
