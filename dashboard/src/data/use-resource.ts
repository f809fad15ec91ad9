import { useCallback, useEffect, useRef, useState } from "react";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import { live } from "./live.ts";

/** What a request answered. `value` stays while it is loaded again, also when that fails. */
export interface Resource<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

export interface ResourceOptions {
  /** Events after which the answer is another one. */
  readonly refreshOn?: (event: FollowedEvent) => boolean;
}

/** Loading again takes a while to be worth it: events come in bursts. */
const restMs = 400;

/**
 * Loads by one request, and again when it should be: `key` names what is loaded, so that another key
 * begins from nothing.
 */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  { refreshOn }: ResourceOptions = {},
): Resource<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: unknown }>({ key });
  const [isLoading, setLoading] = useState(true);
  const current = useRef({ load, refreshOn });
  current.current = { load, refreshOn };
  const reloadRef = useRef<() => void>(() => undefined);

  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isBusy = false;
    let isWanted = false;
    let hasFailed = false;
    const run = async (): Promise<void> => {
      if (isBusy) {
        isWanted = true;
        return;
      }
      isBusy = true;
      isWanted = false;
      setLoading(true);
      try {
        await live.opened;
        const value = await current.current.load(ending.signal);
        hasFailed = false;
        if (!ending.signal.aborted) setState({ key, value });
      } catch (error) {
        if (ending.signal.aborted) return;
        hasFailed = true;
        setState((before) => ({ ...(before.key === key ? before : { key }), error }));
      } finally {
        isBusy = false;
        if (!ending.signal.aborted) setLoading(false);
      }
      if (isWanted) soon();
    };
    const soon = (): void => {
      if (ending.signal.aborted) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void run();
      }, restMs);
    };
    reloadRef.current = () => void run();
    void run();
    const stop = live.listen({
      onEvents: (events) => {
        const { refreshOn: isNews } = current.current;
        if (isNews && events.some(isNews)) soon();
      },
      onGap: soon,
      onBack: () => {
        if (hasFailed) soon();
      },
    });
    return () => {
      ending.abort();
      clearTimeout(timer);
      stop();
    };
  }, [key]);

  const reload = useCallback(() => reloadRef.current(), []);
  const own = state.key === key ? state : { key };
  return { value: own.value, error: own.error, isLoading, reload };
}
