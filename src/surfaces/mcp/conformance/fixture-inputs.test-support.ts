import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequest,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** One key for all servers of the fixture: each round of a call meets a new one. */
export const stateCodec = createRequestStateCodec<{ readonly round: number }>({
  key: "a key of thirty-two bytes or more, for tests",
});

const nameSchema = z.object({ name: z.string() });

function ask(
  message: string,
  property: string,
  type: "string" | "boolean" = "string",
): InputRequest {
  const properties = { [property]: { type } } as Record<string, { type: "string" }>;
  const requestedSchema = { type: "object" as const, properties, required: [property] };
  return inputRequired.elicit({ message, requestedSchema });
}

function sample(text: string, maxTokens: number): InputRequest {
  const content = { type: "text" as const, text };
  return inputRequired.createMessage({ messages: [{ role: "user", content }], maxTokens });
}

function text(words: string): CallToolResult {
  return { content: [{ type: "text", text: words }] };
}

/** The tools with which the suite tries how a server asks its client in the middle of a call. */
export function registerInputs(server: McpServer): void {
  const tool = (
    name: string,
    call: (
      context: ServerContext,
    ) =>
      | ReturnType<typeof inputRequired>
      | CallToolResult
      | Promise<ReturnType<typeof inputRequired> | CallToolResult>,
  ) => server.registerTool(`test_${name}`, { description: "Asks its client" }, call);

  tool("input_required_result_elicitation", ({ mcpReq }) => {
    const user = acceptedContent(mcpReq.inputResponses, "user_name", nameSchema);
    if (user) return text(`Hello, ${user.name}!`);
    return inputRequired({ inputRequests: { user_name: ask("What is your name?", "name") } });
  });
  tool("input_required_result_sampling", ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "capital_question");
    if (answer.kind === "sampling") return text(JSON.stringify(answer.result.content));
    const capital_question = sample("What is the capital of France?", 100);
    return inputRequired({ inputRequests: { capital_question } });
  });
  tool("input_required_result_list_roots", ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "client_roots");
    if (answer.kind === "roots") return text(answer.roots.map(({ uri }) => uri).join(" "));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  for (const name of ["request_state", "tampered_state"]) {
    tool(`input_required_result_${name}`, async ({ mcpReq }) => {
      const state = mcpReq.requestState<{ readonly round: number }>();
      if (state && mcpReq.inputResponses) return text("state-ok");
      const requestState = await stateCodec.mint({ round: 1 });
      const confirm = ask("Please confirm", "ok", "boolean");
      return inputRequired({ inputRequests: { confirm }, requestState });
    });
  }
  tool("input_required_result_multiple_inputs", async ({ mcpReq }) => {
    const { inputResponses } = mcpReq;
    const keys = ["user_name", "greeting", "client_roots"];
    if (keys.every((key) => inputResponse(inputResponses, key).kind !== "missing")) {
      return text("All three came.");
    }
    return inputRequired({
      inputRequests: {
        user_name: ask("What is your name?", "name"),
        greeting: sample("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await stateCodec.mint({ round: 1 }),
    });
  });
  tool("input_required_result_multi_round", async ({ mcpReq }) => {
    const { round = 0 } = mcpReq.requestState<{ readonly round: number }>() ?? {};
    if (round === 2) return text("Both rounds were made.");
    const requestState = await stateCodec.mint({ round: round + 1 });
    const inputRequests: Record<string, InputRequest> =
      round === 0
        ? { step1: ask("Step 1: What is your name?", "name") }
        : { step2: ask("Step 2: What is your favorite color?", "color") };
    return inputRequired({ inputRequests, requestState });
  });
  tool("input_required_result_capabilities", ({ mcpReq }) => {
    const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
    const declared = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
    const inputRequests = {
      ...(declared?.sampling && { words: sample("Say something", 10) }),
      ...(declared?.elicitation && { name: ask("What is your name?", "name") }),
    };
    return inputRequired({ inputRequests });
  });
  tool("missing_capability", () =>
    inputRequired({ inputRequests: { words: sample("Hello", 10) } }),
  );
  tool("streaming_elicitation", async ({ mcpReq }) => {
    const name = ask("What is your name?", "name");
    if (mcpReq.inputResponses) return text("It came.");
    return inputRequired({ inputRequests: { name } });
  });
}
