import { z } from "zod";
import { MandateError } from "../ports/mandate-error.ts";
import type { ToolDescription } from "../ports/model.ts";
import type { Tool } from "./tool.ts";

/** Every tool this runtime has, by its one canonical name. Schemas are converted once. */
export class Toolbox {
  readonly names: readonly string[];
  readonly spawning: ReadonlySet<string>;
  readonly #tools = new Map<string, Tool>();
  readonly #descriptions = new Map<string, ToolDescription>();
  readonly #lists = new Map<string, OfferedTools>();

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (!/^[a-z][a-z0-9_]{0,63}$/.test(tool.name)) {
        throw new MandateError(
          "usage",
          `"${tool.name}" cannot be a tool's name: use lower-case letters, digits and underscores.`,
        );
      }
      if (this.#tools.has(tool.name)) {
        throw new MandateError("usage", `Two tools are named "${tool.name}".`);
      }
      this.#tools.set(tool.name, tool);
    }
    this.names = [...this.#tools.keys()];
    this.spawning = new Set(
      tools.filter((tool) => tool.effect === "spawn").map(({ name }) => name),
    );
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** What a model is shown for these names: the same objects every time, so adapters can cache. */
  offer(names: readonly string[]): OfferedTools {
    const key = names.join(",");
    let offered = this.#lists.get(key);
    if (offered === undefined) {
      const descriptions = names.flatMap((name) => this.#describe(name) ?? []);
      offered = { descriptions, bytes: Buffer.byteLength(JSON.stringify(descriptions)) };
      this.#lists.set(key, offered);
    }
    return offered;
  }

  #describe(name: string): ToolDescription | undefined {
    const known = this.#descriptions.get(name);
    if (known !== undefined) return known;
    const tool = this.#tools.get(name);
    if (tool === undefined) return undefined;
    const { $schema, ...parameters } = z.toJSONSchema(tool.shown ?? tool.input, { io: "input" });
    const description = { name, description: tool.description, parameters };
    this.#descriptions.set(name, description);
    return description;
  }
}

export interface OfferedTools {
  readonly descriptions: readonly ToolDescription[];
  /** The size of what is sent, for the bound on the first prompt. */
  readonly bytes: number;
}
