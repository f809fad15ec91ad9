import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defineTool, type Tool } from "../tool.ts";
import { delegateAbout } from "./delegate-about.ts";
import { refusedStart } from "./refused-start.ts";

/** `profile` lists the configured names; with none configured any string is accepted, and refused later. */
export function spawnTool(profileNames: () => readonly string[]): Tool {
  let known: { readonly names: string; readonly shown: z.ZodType } | undefined;
  return defineTool({
    name: "spawn",
    description:
      "Start a sub-agent in the background and get its job id at once. Spawn several for independent work.",
    alongside: { spawn_await: "Then wait with spawn_await." },
    effect: "spawn",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    changes: "none",
    choosesFrom: "profiles",
    // What is missing or unknown is answered by the tool itself, in its own words.
    input: z.strictObject({
      ...fields,
      task: z.string().optional(),
      profile: z.string().optional(),
    }),
    about: ({ profile }, context) => delegateAbout(profile ?? "", context),
    /** Profiles come and go while the process runs; as long as they are the same, so is this. */
    get shown() {
      const names = profileNames();
      const key = names.join(",");
      if (known?.names !== key) known = { names: key, shown: shownFor(names) };
      return known.shown;
    },
    async execute(input, { delegator }) {
      const task = input.task?.trim() ?? "";
      if (task === "") return { text: "Error: task is required", isError: true };
      const outcome = await delegator.start(
        {
          task,
          profile: input.profile,
          context: input.context,
          systemPrompt: input.system_prompt,
          tools: listed(input.tools),
        },
        "spawn",
      );
      if (outcome.started) return outcome.delegationId;
      return refusedStart(outcome);
    },
  });
}

function shownFor([first, ...others]: readonly string[]): z.ZodType {
  const profile = first === undefined ? z.string() : z.enum([first, ...others]);
  return z.strictObject({
    task: z.string().describe("The task. The sub-agent sees nothing else of this conversation."),
    profile: profile.optional().describe("Who does it."),
    ...fields,
  });
}

const fields = {
  context: z.string().optional().describe("What it needs to know in addition to the task."),
  system_prompt: z.string().optional().describe("Instructions in place of the profile's own."),
  tools: z
    .string()
    .optional()
    .describe("Comma-separated names; selects among what the profile allows."),
};

/** Undefined where no name is in it: that asks for no tools in particular. */
function listed(text: string | undefined): readonly string[] | undefined {
  const names = text === undefined ? [] : commaList(text);
  return names.length === 0 ? undefined : names;
}

export function commaList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
