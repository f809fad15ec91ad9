export interface OpenRequest {
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
  /** From here on it goes on without its client, who will ask again. */
  detach(): void;
  /** The answer is complete. */
  end(): void;
}

/** The requests that are being answered, so that all of them can be told when the server stops. */
export class OpenRequests {
  readonly #open = new Set<AbortController>();
  #isStopping = false;

  get isStopping(): boolean {
    return this.#isStopping;
  }

  begin(client: AbortSignal): OpenRequest {
    const controller = new AbortController();
    const abort = (): void => controller.abort(client.reason);
    const detach = (): void => client.removeEventListener("abort", abort);
    if (client.aborted) abort();
    else client.addEventListener("abort", abort, { once: true });
    this.#open.add(controller);
    return {
      signal: controller.signal,
      detach,
      end: () => {
        detach();
        this.#open.delete(controller);
      },
    };
  }

  stop(): void {
    this.#isStopping = true;
    for (const controller of this.#open) controller.abort(new Error("The server stops."));
  }
}
