import { z } from "zod";
import { faults, finishes, type Playbook } from "./playbook.ts";
import { findTemplateProblem } from "./template.ts";
import { findPatternProblem, rangePattern } from "./when.ts";

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

export const playbookSchema = z.strictObject({
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
