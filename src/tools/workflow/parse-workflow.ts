/**
 * Workflow scripts: parsing, the isolated interpreter, and which calls of a script are equal. Pure
 * but for the interpreter, which runs in a thread of its own. May import ports, agents/documents and
 * control.
 */
import { createRequire } from "node:module";
import type { Expression, Node, ObjectExpression, Options, Program, Token } from "acorn";

const require = createRequire(import.meta.url);

/** The format's limit for scripts that are given inline; files have the same here. */
export const longestWorkflow = 524_288;

export interface WorkflowPhase {
  readonly title: string;
  readonly detail?: string;
  readonly model?: string;
}

export interface WorkflowMeta {
  readonly name: string;
  readonly description: string;
  readonly whenToUse?: string;
  readonly phases: readonly WorkflowPhase[];
}

/** A script that may run. */
export interface ParsedWorkflow {
  readonly meta: WorkflowMeta;
  /** The script without its declaration of `meta`; lines and columns are those of the source. */
  readonly body: string;
}

/** Why a script is refused, and where; lines and columns begin at 1. */
export interface WorkflowProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** The line of the source, and below it a caret. */
  readonly excerpt: string;
}

export interface ParseOptions {
  /** Accepts also a computed description, and a `meta` that is not the first statement. */
  readonly isLenient?: boolean;
  /** The text is no file: control characters are refused. */
  readonly isInline?: boolean;
}

/**
 * Parses a script by the rules of the format; nothing of it is executed.
 *
 * @example
 * const parsed = parseWorkflow(text);
 * if ("problem" in parsed) console.error(describeProblem("review.js", parsed.problem));
 */
export function parseWorkflow(
  source: string,
  { isInline = false, isLenient = false }: ParseOptions = {},
): ParsedWorkflow | { readonly problem: WorkflowProblem } {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  try {
    if (text.length > longestWorkflow) {
      throw new Refused(0, `The script is longer than ${longestWorkflow} characters.`);
    }
    const control = isInline ? text.search(controlCharacter) : -1;
    if (control >= 0) throw new Refused(control, "An inline script has no control characters.");
    const program = readProgram(text);
    refuseOtherComments(text);
    const declared = findMeta(program, isLenient);
    refuseForbidden(program, declared.statement);
    return { meta: metaOf(declared.value, isLenient), body: bodyOf(text, declared, isLenient) };
  } catch (error) {
    if (error instanceof Refused) return { problem: locate(text, error) };
    throw error;
  }
}

/** The problem as compilers write it: place, sentence, line and caret. */
export function describeProblem(file: string, problem: WorkflowProblem): string {
  const { column, excerpt, line, message } = problem;
  return `${file}:${line}:${column}: ${message}\n${excerpt}`;
}

/** Tab and line feed are part of any text. */
const controlCharacter = /[^\P{Cc}\t\n]/u;

class Refused extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

const parsing: Options = {
  ecmaVersion: "latest",
  sourceType: "module",
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowHashBang: true,
};

function readProgram(text: string): Program {
  try {
    // Loaded for the first script: most programs run none.
    const { parse } = require("acorn") as typeof import("acorn");
    return parse(text, parsing);
  } catch (error) {
    if (error instanceof RangeError) throw new Refused(0, "The script is nested too deep.");
    const { message, pos } = error as { readonly message: string; readonly pos?: number };
    const words = message.replace(/ \(\d+:\d+\)$/, "");
    throw new Refused(pos ?? 0, `${words}. A workflow is plain JavaScript, without types.`);
  }
}

/**
 * Outside of modules `<!--` begins a comment: the interpreter would skip what was read as code here, and
 * run what was read as a comment.
 */
function refuseOtherComments(text: string): void {
  if (!text.includes("<!--")) return;
  const { parse, tokTypes } = require("acorn") as typeof import("acorn");
  const onToken = ({ start, type }: Token): void => {
    if (type !== tokTypes.relational || !text.startsWith("<!--", start)) return;
    throw new Refused(start, "A workflow has no HTML comments: write a space after <.");
  };
  parse(text, { ...parsing, onToken });
}

interface DeclaredMeta {
  readonly statement: Node;
  readonly value: ObjectExpression;
}

const example = "export const meta = { name: '…', description: '…' }";

function findMeta({ body }: Program, isLenient: boolean): DeclaredMeta {
  const [first] = body;
  if (first === undefined) throw new Refused(0, `The script is empty. Begin with ${example}.`);
  for (const statement of isLenient ? body : [first]) {
    const declaration =
      statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration" || declaration.kind !== "const") continue;
    if (statement === declaration && !isLenient) continue;
    const [declarator, ...others] = declaration.declarations;
    const { id, init } = declarator ?? {};
    if (id?.type !== "Identifier" || id.name !== "meta" || init == null) continue;
    if (others.length > 0) throw new Refused(declaration.start, "Declare meta alone.");
    if (init.type !== "ObjectExpression") {
      throw new Refused(init.start, "meta is a literal object: no call and no expression.");
    }
    return { statement, value: init };
  }
  throw new Refused(first.start, `The first statement of a workflow is ${example}.`);
}

function metaOf(value: ObjectExpression, isLenient: boolean): WorkflowMeta {
  const found = new Map(
    entriesOf(value).map(([key, node]) => [key, { node, value: literal(node, isLenient) }]),
  );
  const text = (key: "name" | "description"): string => {
    const field = found.get(key);
    if (typeof field?.value === "string" && field.value !== "") return field.value;
    throw new Refused(
      (field?.node ?? value).start,
      `meta needs a ${key}: a text that is not empty.`,
    );
  };
  const whenToUse = found.get("whenToUse")?.value;
  return {
    name: text("name"),
    description: text("description"),
    ...(typeof whenToUse === "string" && { whenToUse }),
    phases: phasesIn(found.get("phases")?.value),
  };
}

/** What is no phase is left out: the format accepts anything here. */
function phasesIn(value: unknown): readonly WorkflowPhase[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown): readonly WorkflowPhase[] => {
    if (typeof entry === "string") return [{ title: entry }];
    if (typeof entry !== "object" || entry === null) return [];
    const { detail, model, title } = entry as Readonly<Record<string, unknown>>;
    if (typeof title !== "string") return [];
    return [
      {
        title,
        ...(typeof detail === "string" && { detail }),
        ...(typeof model === "string" && { model }),
      },
    ];
  });
}

function entriesOf({ properties }: ObjectExpression): readonly (readonly [string, Expression])[] {
  return properties.map((property) => {
    if (property.type === "SpreadElement") {
      throw new Refused(property.start, "meta is a pure literal: it spreads nothing.");
    }
    const { computed, key, kind, method, shorthand, value } = property;
    if (computed || kind !== "init" || method || shorthand) {
      throw new Refused(property.start, "meta is a pure literal: keys and values are written out.");
    }
    const name = key.type === "Identifier" ? key.name : key.type === "Literal" ? key.value : "";
    if (name === "__proto__") throw new Refused(key.start, "meta has no key __proto__.");
    return [String(name), value] as const;
  });
}

/** The value of a literal; what JSON does not have is a text. */
function literal(node: Expression, isLenient: boolean): unknown {
  switch (node.type) {
    case "Literal":
      return typeof node.value === "bigint" || node.value instanceof RegExp
        ? String(node.raw)
        : (node.value ?? null);
    case "TemplateLiteral":
      if (node.expressions.length === 0 || isLenient) {
        return node.quasis
          .map(({ value: { cooked } }, index) => {
            const between = node.expressions[index];
            return `${cooked ?? ""}${between ? String(literal(between, isLenient)) : ""}`;
          })
          .join("");
      }
      break;
    case "BinaryExpression":
      if (isLenient && node.operator === "+" && node.left.type !== "PrivateIdentifier") {
        return `${literal(node.left, isLenient)}${literal(node.right, isLenient)}`;
      }
      break;
    case "UnaryExpression":
      if (node.argument.type === "Literal" && typeof node.argument.value === "number") {
        if (node.operator === "-") return -node.argument.value;
        if (node.operator === "+") return node.argument.value;
      }
      break;
    case "ArrayExpression":
      return node.elements.map((element) => {
        if (element?.type !== "SpreadElement") {
          return element === null ? null : literal(element, isLenient);
        }
        throw new Refused(element.start, "meta is a pure literal: it spreads nothing.");
      });
    case "ObjectExpression":
      return Object.fromEntries(
        entriesOf(node).map(([key, value]) => [key, literal(value, isLenient)]),
      );
    default:
  }
  throw new Refused(node.start, "meta is a pure literal: no names, calls or computed values.");
}

/** What a workflow may not contain, wherever it stands. Iterative: a tree can be deep. */
function refuseForbidden(program: Program, meta: Node): void {
  const open: Node[] = [...program.body].reverse();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const message = node === meta ? undefined : forbidden[node.type]?.(node as never);
    if (message !== undefined) throw new Refused(node.start, message);
    for (const child of childrenOf(node).reverse()) open.push(child);
  }
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value?.type === "string");
}

const noModules = "A workflow imports and exports nothing but meta.";

const unrepeatable = (name: string): string =>
  `${name} is not available: a workflow that is resumed must do the same again. Pass times and random values as args.`;

type NodeOf<Type extends string> = Extract<AnyNode, { readonly type: Type }>;

type AnyNode =
  | import("acorn").AnyNode
  | { readonly type: "never"; readonly start: number; readonly end: number };

const forbidden: { readonly [Type in string]?: (node: never) => string | undefined } = {
  ImportDeclaration: () => noModules,
  ImportExpression: () => noModules,
  ExportNamedDeclaration: () => noModules,
  ExportDefaultDeclaration: () => noModules,
  ExportAllDeclaration: () => noModules,
  MetaProperty: ({ meta }: NodeOf<"MetaProperty">) =>
    meta.name === "import" ? "A workflow has no import.meta." : undefined,
  MemberExpression({ computed, object, property }: NodeOf<"MemberExpression">) {
    if (computed || object.type !== "Identifier" || property.type !== "Identifier")
      return undefined;
    const name = `${object.name}.${property.name}`;
    return name === "Date.now" || name === "Math.random" ? unrepeatable(name) : undefined;
  },
  NewExpression: ({ arguments: given, callee }: NodeOf<"NewExpression">) =>
    callee.type === "Identifier" && callee.name === "Date" && given.length === 0
      ? unrepeatable("new Date()")
      : undefined,
};

/** Blanks instead of the declaration keep every line and column. */
function bodyOf(text: string, { statement }: DeclaredMeta, isLenient: boolean): string {
  const shebang = text.startsWith("#!") ? text.search(/$/m) : 0;
  // Where it need not be the first statement, the script may read it.
  const end = isLenient ? statement.start + "export".length : statement.end;
  const isKept = isLenient && statement.type !== "ExportNamedDeclaration";
  const blank = (part: string): string => part.replaceAll(/[^\n\r\u2028\u2029]/g, " ");
  const from = isKept ? end : statement.start;
  return (
    blank(text.slice(0, shebang)) +
    text.slice(shebang, from) +
    blank(text.slice(from, end)) +
    text.slice(end)
  );
}

function locate(text: string, { at, message }: Refused): WorkflowProblem {
  const before = text.slice(0, at).split(/\r\n|[\n\r\u2028\u2029]/);
  const column = (before.at(-1) ?? "").length;
  const [rest = ""] = text.slice(at).split(/[\n\r\u2028\u2029]/, 1);
  const whole = `${before.at(-1) ?? ""}${rest}`;
  // A long line is shown around its problem.
  const from = Math.max(0, column - longestExcerpt / 2);
  const shown = whole.slice(from, from + longestExcerpt).replaceAll(/[\p{Cc}\p{Cf}]/gu, " ");
  const excerpt = `  ${shown}\n  ${" ".repeat(column - from)}^`;
  return { line: before.length, column: column + 1, message, excerpt };
}

const longestExcerpt = 160;
