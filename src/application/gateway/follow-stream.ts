import type { ReservedRequest } from "../../delegations/agent-programs.ts";
import {
  type Json,
  Objection,
  partOf,
  type WireStream,
} from "../../models/gateway/wire-protocol.ts";
import { longestAnswer } from "./send-upstream.ts";

interface Followed {
  readonly answer: AsyncIterable<Buffer>;
  readonly stream: WireStream;
  readonly request: ReservedRequest;
  /** The last event for the program when the delegation was stopped; undefined: it was not. */
  readonly whyStopped: () => string | undefined;
  readonly done: () => void;
}

/**
 * Passes a stream on, event by event, at the speed of its reader. It is settled before its reader gets
 * the last event, or as an estimate when the provider, the program or the contract ends it before.
 */
export async function* followStream(followed: Followed): AsyncGenerator<Buffer> {
  const { answer, done, request, stream, whyStopped } = followed;
  const events = new EventSplitter();
  let bytes = 0;
  let isSettled = false;
  const settle = async (): Promise<void> => {
    if (isSettled) return;
    isSettled = true;
    if (stream.isComplete) await request.complete(stream.answer);
    else await request.cut();
  };
  try {
    for await (const chunk of answer) {
      bytes += chunk.length;
      if (bytes > longestAnswer) throw new Error("The provider's answer is too long.");
      const passed: Buffer[] = [];
      for (const event of events.add(chunk)) {
        const isFor = see(stream, event);
        request.received = stream.received;
        if (stream.isComplete && !isSettled && stream.answer.usage !== null) await settle();
        if (isFor) passed.push(event);
      }
      if (passed.length > 0) yield Buffer.concat(passed);
    }
    await settle();
    const rest = events.rest();
    if (rest.length > 0) yield rest;
  } catch (error) {
    await settle();
    const last = whyStopped();
    if (last === undefined) throw error;
    yield Buffer.from(last);
  } finally {
    done();
    // The program no longer reads.
    await settle();
  }
}

/** False: the event is not for the program. What cannot be read is passed on unread. */
function see(stream: WireStream, event: Buffer): boolean {
  const data = event
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
  if (data === "" || data === "[DONE]") return true;
  try {
    return stream.see(partOf(JSON.parse(data)) satisfies Json);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Objection) return true;
    throw error;
  }
}

const longestEvent = 16 * 1024 * 1024;

/** Splits bytes into whole events, which end with an empty line. */
class EventSplitter {
  #left: Buffer = Buffer.alloc(0);

  *add(chunk: Buffer): Generator<Buffer> {
    this.#left = this.#left.length === 0 ? chunk : Buffer.concat([this.#left, chunk]);
    for (;;) {
      const end = endOfEvent(this.#left);
      if (end < 0 && this.#left.length > longestEvent) throw new Error("An event is too long.");
      if (end < 0) return;
      yield this.#left.subarray(0, end);
      this.#left = this.#left.subarray(end);
    }
  }

  rest(): Buffer {
    return this.#left;
  }
}

function endOfEvent(bytes: Buffer): number {
  const [unix, windows] = [bytes.indexOf("\n\n"), bytes.indexOf("\r\n\r\n")];
  if (unix < 0 && windows < 0) return -1;
  if (windows < 0 || (unix >= 0 && unix < windows)) return unix + 2;
  return windows + 4;
}
