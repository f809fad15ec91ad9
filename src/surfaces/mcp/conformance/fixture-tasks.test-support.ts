import {
  acceptedContent,
  type CallToolResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { sleep, systemClock } from "../../../ports/clock.ts";
import { until } from "../../../testing/until.ts";
import { LiveTask } from "../tasks/live-task.ts";
import { taskOf } from "../tasks/task.ts";

/** The tools that the suite has done as tasks. */
export const longTools = new Set([
  ...["slow_compute", "failing_job", "protocol_error_job"],
  ...["confirm_delete", "multi_input", "test_tool_with_task"],
]);

/** Those that are refused to clients that do not know tasks. */
export const taskOnlyTools = new Set(["failing_job", "test_tool_with_task"]);

export function registerLongTools(server: McpServer): void {
  server.registerTool(
    "slow_compute",
    {
      description: "Takes its time",
      inputSchema: z.object({ seconds: z.number().max(120), label: z.string().optional() }),
    },
    async ({ seconds, label }, { mcpReq }) => {
      // The suite says how long, and looks at the task meanwhile.
      await sleep(systemClock, seconds * 1000, mcpReq.signal);
      return text(`Computed ${label ?? "it"}.`);
    },
  );
  server.registerTool("failing_job", { description: "Fails" }, async (context) => {
    await untilTask(context);
    return { ...text("It did not work."), isError: true };
  });
  server.registerTool("protocol_error_job", { description: "Breaks" }, async (context) => {
    await untilTask(context);
    // Not what a tool may give: the server itself has to fail.
    return { content: "broken" } as unknown as CallToolResult;
  });
  server.registerTool(
    "confirm_delete",
    { description: "Asks first", inputSchema: z.object({ filename: z.string() }) },
    async ({ filename }, context) => {
      const answer = await ask(context, `Delete ${filename}?`, "confirm");
      return text(`${filename}: ${JSON.stringify(answer)}`);
    },
  );
  server.registerTool("multi_input", { description: "Asks twice" }, async (context) => {
    const questions = ["What is your name?", "Are you sure?"];
    const answers = await Promise.all(questions.map((one) => ask(context, one, "name")));
    return text(JSON.stringify(answers));
  });
  server.registerTool(
    "test_tool_with_task",
    { description: "Asks, then works" },
    async (context) => {
      const { inputResponses } = context.mcpReq;
      const user = acceptedContent<{ name: string }>(inputResponses, "user_name");
      if (user === undefined)
        return inputRequired({ inputRequests: { user_name: question("Your name?", "name") } });
      await untilTask(context);
      return text(`Worked for ${user.name}.`);
    },
  );
}

/** Its client has been answered with a task: what comes now is the task's end. */
async function untilTask(context: ServerContext): Promise<void> {
  const task = taskOf(context);
  if (task instanceof LiveTask) await until("the call becomes a task", () => task.isTask);
}

function question(message: string, property: string) {
  const properties = { [property]: { type: "string" as const } };
  return inputRequired.elicit({ message, requestedSchema: { type: "object", properties } });
}

async function ask(context: ServerContext, message: string, property: string): Promise<unknown> {
  const task = taskOf(context);
  if (task === undefined) throw new Error("This needs a client that knows tasks.");
  return task.requestInput(question(message, property));
}

function text(words: string): CallToolResult {
  return { content: [{ type: "text", text: words }] };
}
