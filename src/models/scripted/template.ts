import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { type Message, ModelFault, type ModelRequest } from "../../ports/model.ts";
import { headOf } from "../../text.ts";

/** A text whose placeholders are filled from the request that it answers. */
export type Template = (request: ModelRequest) => string;

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;
const resultPattern = /^result:(?:([^:]+):)?(-?\d+)((?:\.[\w-]+)*)$/;

const simple: Readonly<Record<string, Template>> = {
  last: ({ messages }) => messages.at(-1)?.text ?? "",
  results: ({ messages }) => latestResults(messages).map(textOf).join("\n\n"),
  task: ({ caller }) => caller.task,
  turn: ({ caller }) => String(caller.turn),
  try: ({ caller }) => String(caller.try),
  attempt: ({ caller }) => String(caller.attempt),
  depth: ({ caller }) => String(caller.depth),
  profile: ({ caller }) => caller.profile,
  // The way to write two braces that open no placeholder.
  open: () => "{{",
};

/** What is wrong with a text's placeholders, or undefined. */
export function findTemplateProblem(text: string): string | undefined {
  for (const [, name = ""] of text.matchAll(placeholder)) {
    if (fillerOf(name) !== undefined) continue;
    const nearest = nearestKey(name.split(":")[0] ?? "", [...Object.keys(simple), "result", "ids"]);
    const hint = nearest === undefined ? "" : `; did you mean "{{${nearest}}}"?`;
    return `unknown placeholder "{{${name}}}"${hint}`;
  }
  return undefined;
}

/** Text without placeholders, which is most, costs nothing to fill. */
export function compileTemplate(text: string): Template {
  if (!text.includes("{{")) return () => text;
  return (request) =>
    text.replaceAll(placeholder, (whole, name: string) => fillerOf(name)?.(request) ?? whole);
}

/** Any data, with the texts inside it as templates. */
export function compileInput(input: unknown): (request: ModelRequest) => unknown {
  if (typeof input === "string") return compileTemplate(input);
  if (typeof input !== "object" || input === null) return () => input;
  if (!JSON.stringify(input).includes("{{")) return () => input;
  if (Array.isArray(input)) {
    const items = input.map(compileInput);
    return (request) => items.map((item) => item(request));
  }
  const entries = Object.entries(input).map(([key, value]) => [key, compileInput(value)] as const);
  return (request) => Object.fromEntries(entries.map(([key, fill]) => [key, fill(request)]));
}

function fillerOf(name: string): Template | undefined {
  if (Object.hasOwn(simple, name)) return simple[name];
  if (name.startsWith("ids:") && name.length > 4) {
    const tool = name.slice(4);
    return ({ messages }) =>
      resultsOf(messages, tool)
        .map((each) => each.text.trim())
        .join(",");
  }
  const [, tool, number, path = ""] = resultPattern.exec(name) ?? [];
  if (number === undefined || Number(number) === 0) return undefined;
  return (request) => {
    const results = resultsOf(request.messages, tool);
    const result = results.at(Number(number) > 0 ? Number(number) - 1 : Number(number));
    if (result === undefined) throw missing(name, results.length, tool);
    return path === "" ? result.text : fieldOf(result.text, path.slice(1).split("."), name);
  };
}

type ToolResult = Extract<Message, { role: "tool" }>;

function resultsOf(messages: readonly Message[], tool: string | undefined): ToolResult[] {
  return messages.filter(
    (message): message is ToolResult =>
      message.role === "tool" && (tool === undefined || message.tool === tool),
  );
}

/** The results that the last turn's calls brought. */
function latestResults(messages: readonly Message[]): Message[] {
  const lastReply = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(lastReply + 1).filter((message) => message.role === "tool");
}

function textOf(message: Message): string {
  return message.text;
}

function fieldOf(text: string, path: readonly string[], name: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ModelFault(
      "rejected",
      `{{${name}}} needs a JSON result, and it is "${headOf(text, 80)}".`,
    );
  }
  for (const step of path) value = (value as Record<string, unknown> | null)?.[step];
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function missing(name: string, available: number, tool: string | undefined): ModelFault {
  const whose = tool === undefined ? "" : ` of ${tool}`;
  const message = `{{${name}}} cannot be filled: there are ${available} tool results${whose} so far.`;
  return new ModelFault("rejected", message);
}
