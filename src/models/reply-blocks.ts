import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Message, ModelCaller, ModelRequest, ToolCall } from "../ports/model.ts";
import { parseJson } from "../ports/parse-json.ts";

type Metadata = SharedV4ProviderMetadata | undefined;

interface Block {
  readonly kind: "text" | "reasoning";
  text: string;
  metadata: Metadata;
}

interface CallBlock {
  readonly kind: "call";
  readonly call: RawCall;
  readonly metadata: Metadata;
}

/** The pieces of a reply in the order they began: providers interleave them. */
export class ReplyBlocks {
  readonly #blocks: (Block | CallBlock)[] = [];
  readonly #open = new Map<string, Block>();

  begin(kind: Block["kind"], id: string, metadata: Metadata): Block {
    const block: Block = { kind, text: "", metadata };
    this.#blocks.push(block);
    this.#open.set(id, block);
    return block;
  }

  extend(kind: Block["kind"], id: string, text: string, metadata: Metadata): void {
    const block = this.#open.get(id) ?? this.begin(kind, id, undefined);
    block.text += text;
    block.metadata = mergeMetadata(block.metadata, metadata);
  }

  end(kind: Block["kind"], id: string, metadata: Metadata): void {
    this.extend(kind, id, "", metadata);
    this.#open.delete(id);
  }

  addCall(call: RawCall, metadata: Metadata): void {
    this.#blocks.push({ kind: "call", call, metadata });
  }

  get text(): string {
    let text = "";
    for (const block of this.#blocks) if (block.kind === "text") text += block.text;
    return text;
  }

  /** `isUnfinished` says which calls were cut before their arguments began. */
  collect(request: ModelRequest, isUnfinished: (call: RawCall) => boolean) {
    const calls: ToolCall[] = [];
    const fragments: Fragment[] = [];
    let ids: CallIds | undefined;
    for (const block of this.#blocks) {
      const options = block.metadata === undefined ? {} : { options: block.metadata };
      if (block.kind === "call") {
        ids ??= callIdsOf(request.messages);
        const context = { ...ids, isUnfinished: isUnfinished(block.call), caller: request.caller };
        const call = parseToolCall(block.call, context);
        calls.push(call);
        fragments.push({ kind: "call", id: call.id, ...options });
      } else if (block.kind === "text") {
        fragments.push({ kind: "text", length: block.text.length, ...options });
      } else if (block.text !== "" || block.metadata !== undefined) {
        fragments.push({ kind: "reasoning", text: block.text, ...options });
      }
    }
    return { calls, fragments };
  }
}

function mergeMetadata(left: Metadata, right: Metadata): Metadata {
  if (left === undefined || right === undefined) return left ?? right;
  const merged = { ...left };
  for (const [provider, values] of Object.entries(right)) {
    merged[provider] = { ...merged[provider], ...values };
  }
  return merged;
}

/** A call as providers give it: the arguments are still text. */
interface RawCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
}

interface CallIds {
  /** The ids that are in use. */
  readonly taken: Set<string>;
  /** The next suffix to try, by wanted id, so that many equal ids take linear time. */
  readonly next: Map<string, number>;
}

interface CallContext extends CallIds {
  readonly isUnfinished: boolean;
  readonly caller: ModelCaller;
}

/** Arguments that are not JSON are kept as they came, for the error that the model is shown. */
export function parseToolCall(raw: RawCall, context: CallContext): ToolCall {
  const id = uniqueId(raw.toolCallId, context);
  const name = raw.toolName;
  if (context.isUnfinished) return { id, name, input: undefined, malformed: raw.input };
  if (raw.input.trim() === "") return { id, name, input: {} };
  try {
    return { id, name, input: parseJson(raw.input) };
  } catch {
    return { id, name, input: undefined, malformed: raw.input };
  }
}

export function callIdsOf(messages: readonly Message[]): CallIds {
  const taken = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const call of message.calls) taken.add(call.id);
  }
  return { taken, next: new Map() };
}

/**
 * Makes ids unique in a delegation, as the log requires: some servers repeat theirs, or send none.
 * Call and result go back to the provider with the same id, so the id may be changed.
 */
function uniqueId(wanted: string, { taken, next, caller }: CallContext): string {
  let id = wanted;
  let number = next.get(wanted) ?? 1;
  for (; id === "" || taken.has(id); number += 1) {
    id = `${wanted || "call"}_${caller.attempt}_${caller.turn}_${number}`;
  }
  next.set(wanted, number);
  taken.add(id);
  return id;
}

/**
 * One piece of a reply, in the order it came, with what the provider attached to it (signatures,
 * encrypted reasoning, item ids). Text and arguments are not repeated here, they are in the message.
 */
export type Fragment = { readonly options?: SharedV4ProviderOptions } & (
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "text"; readonly length: number }
  | { readonly kind: "call"; readonly id: string }
);

/** What a reply's `providerData` holds; plain JSON, since it is stored with the turn. */
export interface ProviderData {
  /** Sent back to this model only: others cannot read it, and may refuse it. */
  readonly model: string;
  readonly fragments: readonly Fragment[];
}

/**
 * The fragments, when they were made by this model and still fit their message: a conversation may
 * have been shortened since, or continued by another model.
 */
export function readProviderData(
  data: unknown,
  model: string,
  message: { readonly text: string; readonly calls: readonly ToolCall[] },
): readonly Fragment[] | null {
  if (!isProviderData(data) || data.model !== model) return null;
  let length = 0;
  let calls = 0;
  for (const fragment of data.fragments) {
    if (fragment.kind === "text") length += fragment.length;
    if (fragment.kind === "call") calls += 1;
  }
  const fits = length === message.text.length && calls === message.calls.length;
  return fits ? data.fragments : null;
}

function isProviderData(data: unknown): data is ProviderData {
  const candidate = data as Partial<ProviderData> | null | undefined;
  return typeof candidate?.model === "string" && Array.isArray(candidate.fragments);
}
