import { shownSchema } from "../agents/documents/tool-input.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ToolDescription } from "../ports/model.ts";
import { requireTool, type Tool } from "./tool.ts";

/** Every tool this runtime has, by its one canonical name. Schemas are converted once. */
export class Toolbox {
  readonly names: readonly string[];
  readonly spawning: ReadonlySet<string>;
  readonly #tools = new Map<string, Tool>();
  /** Tools whose schema depends on present state, such as the names of profiles. */
  readonly #changing: readonly Tool[];
  readonly #descriptions = new Map<string, Described>();
  readonly #lists = new Map<string, OfferedTools>();

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      requireTool(tool);
      // What begins with mcp__ is a server's: rules and contracts speak of those by pattern.
      if (!/^(?!mcp__)[a-z][a-z0-9_]{0,63}$/.test(tool.name)) {
        throw new MandateError(
          "usage",
          `"${tool.name}" cannot be a tool's name: use lower-case letters, digits and underscores, and begin with something else than mcp__.`,
        );
      }
      if (this.#tools.has(tool.name)) {
        throw new MandateError("usage", `Two tools are named "${tool.name}".`);
      }
      this.#tools.set(tool.name, tool);
    }
    this.names = [...this.#tools.keys()];
    this.#changing = tools.filter(changes);
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
    if (offered === undefined || this.#hasChanged(names)) {
      const descriptions = names.flatMap((name) => this.#describe(name, names) ?? []);
      offered = { descriptions, tokens: boundOf(JSON.stringify(descriptions)) };
      this.#lists.set(key, offered);
    }
    return offered;
  }

  /** Whether a tool among them shows itself otherwise than when it was described. */
  #hasChanged(names: readonly string[]): boolean {
    return this.#changing.some((tool) => {
      return names.includes(tool.name) && this.#descriptions.get(tool.name)?.shown !== tool.shown;
    });
  }

  /** `beside`: all that are offered together. */
  #describe(name: string, beside: readonly string[]): ToolDescription | undefined {
    const tool = this.#tools.get(name);
    if (tool === undefined) return undefined;
    const { shown } = tool;
    let known = this.#descriptions.get(name);
    if (known === undefined || known.shown !== shown) {
      known = { shown, description: describeTool(tool).description };
      this.#descriptions.set(name, known);
    }
    const said = Object.entries(tool.alongside ?? {}).filter(
      ([other]) => beside.includes(other) && this.#tools.has(other),
    );
    if (said.length === 0) return known.description;
    const { description } = known.description;
    const whole = [description, ...said.map(([, sentence]) => sentence)].join(" ");
    return { ...known.description, description: whole };
  }
}

interface Described {
  readonly shown: Tool["shown"];
  readonly description: ToolDescription;
}

function changes(tool: Tool): boolean {
  return Object.getOwnPropertyDescriptor(tool, "shown")?.get !== undefined;
}

/** What a model is shown of one tool, also of one that is in no toolbox. */
export function describeTool(tool: Tool): DescribedTool {
  const description = {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters ?? shownSchema(tool.shown ?? tool.input, "input"),
  };
  // Other people wrote the description, in any characters: a token has at least one byte.
  return { description, tokens: Buffer.byteLength(JSON.stringify(description)) };
}

/**
 * A bound on the tokens of descriptions: ASCII text has at most one token for two characters, any other
 * character at most one for each byte, and cuts a pair. One token per byte of everything would reserve
 * too much of a small budget for a long list of tools.
 */
function boundOf(text: string): number {
  const others = text.match(notAscii)?.length ?? 0;
  const ascii = text.length - others;
  return Math.ceil(ascii / 2) + (Buffer.byteLength(text) - ascii) + others;
}

const notAscii = /[^\0-\x7f]/g;

export interface DescribedTool {
  readonly description: ToolDescription;
  /** The most that it can cost in a prompt. */
  readonly tokens: number;
}

export interface OfferedTools {
  readonly descriptions: readonly ToolDescription[];
  /** The most that they can cost, for the bound on the first prompt. */
  readonly tokens: number;
}
