import { type Clock, systemClock, timeoutSignal } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { ModelFault } from "../ports/model.ts";
import type { ModelRegistry } from "./model-registry.ts";

/** Whether a model answers, as `mandate doctor --ping` asks it. */
export type Ping = { readonly model: string; readonly ms: number } & (
  | { readonly isAnswered: true; readonly served: string | null }
  /** `problem`: what is wrong and what to do, as a run would say it. */
  | { readonly isAnswered: false; readonly fault: string; readonly problem: string }
);

const patienceMs = 30_000;
/** Some providers refuse a lower limit. The prompt asks for one word. */
const fewTokens = 16;

/**
 * Asks a model for one word, once: no retry, no fallback. A model that needs its tokens for reasoning
 * has answered as well.
 */
export async function pingModel(
  models: Pick<ModelRegistry, "resolve">,
  name: string,
  clock: Clock = systemClock,
): Promise<Ping> {
  const began = clock.monotonic();
  const signal = timeoutSignal(clock, patienceMs);
  const asked = { model: name };
  const caller = { delegationId: "ping", profile: "doctor", depth: 0, attempt: 1, turn: 1, try: 1 };
  try {
    const { served } = await models.resolve(name)(
      {
        ...asked,
        system: "Answer with one word.",
        messages: [{ role: "user", text: "Say OK." }],
        tools: [],
        maxOutputTokens: fewTokens,
        temperature: null,
        caller: { ...caller, task: "ping" },
        signal,
      },
      () => {},
    );
    return { ...asked, ms: clock.monotonic() - began, isAnswered: true, served };
  } catch (error) {
    const ms = clock.monotonic() - began;
    if (error === signal.reason) {
      const problem = `${name} did not answer within ${patienceMs / 1000} s.`;
      return { ...asked, ms, isAnswered: false, fault: "timeout", problem };
    }
    if (error instanceof MandateError) {
      return { ...asked, ms, isAnswered: false, fault: error.code, problem: error.message };
    }
    if (!(error instanceof ModelFault)) throw error;
    const { kind, message, remedy } = error;
    const problem = remedy === undefined ? message : `${message} ${remedy}`;
    return { ...asked, ms, isAnswered: false, fault: kind, problem };
  }
}
