import { z } from "zod";

const text = z
  .string()
  .max(32_000)
  .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds what no command can");

const fields = z.strictObject({
  command: text.min(1).optional().describe("A line for sh. Either this or argv."),
  argv: z
    .array(text)
    .min(1)
    .max(1000)
    .refine((words) => words.join("").length <= 100_000, "is too long")
    .refine(([program = ""]) => /^[^-]/.test(program), "must begin with a program")
    .optional()
    .describe("A program and its arguments, run without a shell: nothing in them is expanded."),
  cwd: z.string().min(1).max(4096).optional().describe("A folder below the workspace's root."),
  timeout_ms: z
    .int()
    .min(1)
    .max(3_600_000)
    .optional()
    .describe("Ends the command after so long; with wait: how long to wait."),
  background: z.boolean().optional().describe("Go on at once and get a handle."),
  handle: z.string().min(1).max(20).optional().describe("Of a command in the background."),
  action: z
    .enum(["read", "wait", "stop"])
    .optional()
    .describe("With handle: what it said since the last time, or wait for its end, or end it."),
});

export type ShellInput = z.infer<typeof fields>;

/** One thing at a time: a command, a program, or a command that runs already. */
export const shellInput = fields.superRefine((input, issues) => {
  const named = [input.command, input.argv, input.handle].filter((value) => value !== undefined);
  if (named.length !== 1) complain("give exactly one of command, argv and handle");
  if (input.handle === undefined && input.action !== undefined) complain("action needs a handle");
  if (input.handle !== undefined && input.action === undefined) {
    complain("a handle needs an action: read, wait or stop");
  }
  if (input.handle !== undefined && (input.cwd !== undefined || input.background !== undefined)) {
    complain("cwd and background are for new commands");
  }

  function complain(message: string): void {
    issues.addIssue({ code: "custom", message });
  }
});
