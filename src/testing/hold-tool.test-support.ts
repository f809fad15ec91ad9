import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import { defineTool, type Tool } from "../tools/tool.ts";

/** A tool whose call lasts until the test lets it go. */
export class Hold {
  readonly #begun = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  readonly tool: Tool = defineTool({
    name: "hold",
    description: "Waits until the test lets it go.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: async () => {
      this.#begun.resolve();
      await this.#released.promise;
      return "held";
    },
  });

  /** Resolves when the call is under way. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  release(): void {
    this.#released.resolve();
  }
}
