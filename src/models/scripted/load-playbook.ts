import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { describeProblem } from "../../agents/documents/describe-problem.ts";
import { parseYaml } from "../../agents/documents/read-yaml.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { reasonOf } from "../../ports/message-of.ts";
import { findPatternProblem, rangePattern } from "./choose-reply.ts";
import { faults, finishes, type Playbook } from "./playbook.ts";
import { findTemplateProblem } from "./template.ts";

const maximumBytes = 1_000_000;

/**
 * Reads a playbook file, YAML or JSON. Nothing in it is evaluated.
 *
 * @example const model = scriptedModel(await loadPlaybook("helpers.yaml"));
 */
export async function loadPlaybook(path: string): Promise<Playbook> {
  return parsePlaybook(await readText(path), path);
}

/**
 * Throws a MandateError "playbook-invalid" that names file, line and what is meant instead.
 *
 * @example const playbook = parsePlaybook("version: 1\nreplies:\n  - text: Done.\n", "inline");
 */
export function parsePlaybook(text: string, path: string): Playbook {
  const { value, lineOf } = parseYaml(text, path, { code: "playbook-invalid" });
  const result = playbookSchema.safeParse(value);
  if (!result.success) {
    const source = { file: path, lineOf, schema: playbookSchema };
    throw new MandateError("playbook-invalid", describeProblem(result.error, source));
  }
  return { name: basename(path), ...result.data };
}

async function readText(path: string): Promise<string> {
  // The file is opened without blocking, and must be plain: opening a pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: Error) =>
    refuse(path, `cannot be read: ${reasonOf(error)}`, error),
  );
  try {
    const status = await file.stat();
    if (!status.isFile()) refuse(path, "is not a file");
    if (status.size > maximumBytes) refuse(path, "is larger than 1 MB");
    const bytes = await file.readFile();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof MandateError) throw error;
    return refuse(path, "is not text in UTF-8", error);
  } finally {
    await file.close();
  }
}

function refuse(path: string, problem: string, cause?: unknown): never {
  throw new MandateError("playbook-invalid", `${path} ${problem}.`, { cause });
}

const count = z.number().int().min(0);
const range = z.union([count, z.string().regex(rangePattern, 'expected a number, "3+" or "2-4"')]);
const pattern = checkedString(findPatternProblem);
const template = checkedString(findTemplateProblem);

const when = z.strictObject({
  profile: z.string().optional(),
  turn: range.optional(),
  attempt: range.optional(),
  depth: range.optional(),
  try: range.optional(),
  task: pattern.optional(),
  last: pattern.optional(),
  tool: z.string().optional(),
});

const reply = z
  .strictObject({
    when: when.optional(),
    times: count.min(1).optional(),
    text: template.optional(),
    calls: z
      .array(
        z.strictObject({
          tool: z.string().min(1),
          input: templates().optional(),
          id: z.string().optional(),
        }),
      )
      .optional(),
    latency_ms: count.max(3_600_000).optional(),
    chunks: count.min(1).max(10_000).optional(),
    usage: z
      .strictObject({
        prompt: count,
        completion: count,
        cached: count.optional(),
        cacheWrite: count.optional(),
      })
      .optional(),
    served: z.string().optional(),
    finish: z.enum(finishes).optional(),
    fault: z.enum(faults).optional(),
    retry_after_ms: count.optional(),
    partial: template.optional(),
  })
  .superRefine((value, context) => {
    if (value.text === undefined && value.calls === undefined && value.fault === undefined) {
      context.addIssue({ code: "custom", message: "a reply needs text, calls or fault" });
    }
    const mayWait = value.fault === "rate-limited" || value.fault === "overloaded";
    if (value.retry_after_ms !== undefined && !mayWait) {
      const message = 'only with fault "rate-limited" or "overloaded"';
      context.addIssue({ code: "custom", path: ["retry_after_ms"], message });
    }
    if (value.partial !== undefined && value.fault === undefined) {
      context.addIssue({ code: "custom", path: ["partial"], message: "only with a fault" });
    }
  });

const playbookSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().optional(),
  replies: z.array(reply).min(1),
}) satisfies z.ZodType<Playbook>;

function checkedString(findProblem: (text: string) => string | undefined) {
  return z.string().superRefine((text, context) => {
    const message = findProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
}

/** An input is any data; the texts inside it are templates. */
function templates() {
  return z.unknown().superRefine((input, context) => {
    visit(input, []);
    function visit(value: unknown, path: (string | number)[]): void {
      if (typeof value === "string") {
        const message = findTemplateProblem(value);
        if (message !== undefined) context.addIssue({ code: "custom", path, message });
      } else if (Array.isArray(value)) {
        for (const [index, item] of value.entries()) visit(item, [...path, index]);
      } else if (typeof value === "object" && value !== null) {
        for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
      }
    }
  });
}

/** Divides the waits of a playbook: a test of what people watch runs ten times as fast. */
export function hasten(playbook: Playbook, speed: number): Playbook {
  if (speed === 1) return playbook;
  const sooner = (ms: number | undefined) =>
    ms === undefined ? undefined : Math.round(ms / speed);
  return {
    ...playbook,
    replies: playbook.replies.map((reply) => ({
      ...reply,
      latency_ms: sooner(reply.latency_ms),
      retry_after_ms: sooner(reply.retry_after_ms),
    })),
  };
}
