import { addressesIn, originsIn } from "../contracts/addresses.ts";
import type { Contract } from "../contracts/contract.ts";
import type { Message } from "../ports/model.ts";
import type { Tool } from "./tool.ts";

/** The conversation in which an address may already be. */
export interface Conversation {
  readonly contract: Contract;
  readonly messages: readonly Message[];
  find(tool: string): Tool | undefined;
}

/**
 * Whether an address is already in the conversation and was not composed by an agent: it is in the
 * task, in a message of the person or program behind the run, or in a result from outside. Fetching
 * exactly that address sends no private data. Texts that agents can have written (files, memory,
 * results of sub-agents, refusals that repeat a call) do not count, nor does an address that the
 * agent itself wrote first. An address that was fetched before may be fetched again. A message of a
 * person during the run allows all hosts that it names.
 */
export function isKnownAddress({ href, origin }: URL, conversation: Conversation): boolean {
  const { contract, find, messages } = conversation;
  if (contract.parent.addresses?.includes(href)) return true;
  const calls = new Map<string, unknown>();
  let isComposed = false;
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const { id, input } of message.calls) calls.set(id, input);
      isComposed ||= says(message.text, href) || says(JSON.stringify(message.calls), href);
    } else if (message.role === "user") {
      if (message.from !== undefined && addressesIn(message.text).has(href)) return true;
      if (message.from === "person" && originsIn(message.text).includes(origin)) return true;
    } else {
      const tool = message.isError ? undefined : find(message.tool);
      if (tool === undefined || !isFromOutside(tool)) continue;
      if (wentTo(tool, calls.get(message.callId), href)) return true;
      if (!isComposed && addressesIn(message.text).has(href)) return true;
    }
  }
  return false;
}

/** The tool returns untrusted input from elsewhere, and nothing that is stored on this machine. */
function isFromOutside({ exposure }: Tool): boolean {
  return exposure.untrusted && exposure.private === false;
}

function wentTo({ destinations, exposure }: Tool, input: unknown, href: string): boolean {
  if (exposure.wayOut !== "address") return false;
  try {
    return destinations?.(input).some((url) => url.href === href) === true;
  } catch {
    return false;
  }
}

/** Whether a text names an address, also as an escaped part of another address. */
function says(text: string, href: string): boolean {
  return text.includes(href) || text.includes(encodeURIComponent(href));
}
