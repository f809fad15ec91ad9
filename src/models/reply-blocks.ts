import type { SharedV4ProviderMetadata } from "@ai-sdk/provider";
import type { ModelRequest, ToolCall } from "../ports/model.ts";
import type { Fragment } from "./provider-data.ts";
import { type CallIds, callIdsOf, parseToolCall, type RawCall } from "./tool-call.ts";

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
