import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { onePixel } from "./fixture-content.test-support.ts";

/** The resources and prompts that the suite asks for by name. */
export function registerResources(server: McpServer): void {
  const mimeType = "text/plain";
  server.registerResource(
    "static-text",
    "test://static-text",
    { description: "Text", mimeType },
    ({ href: uri }) => ({
      contents: [{ uri, mimeType, text: "This is the content of the static text resource." }],
    }),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { description: "An image", mimeType: "image/png" },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: "image/png", blob: onePixel }] }),
  );
  server.registerResource(
    "watched-resource",
    "test://watched-resource",
    { description: "Changes", mimeType },
    ({ href: uri }) => ({ contents: [{ uri, mimeType, text: "It may change." }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by id", mimeType: "application/json" },
    ({ href: uri }, { id }) => ({
      contents: [
        {
          uri,
          mimeType: "application/json",
          text: JSON.stringify({ id, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
}

export function registerPrompts(server: McpServer): void {
  const said = (words: string) =>
    ({ role: "user", content: { type: "text", text: words } }) as const;

  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () => ({
    messages: [said("This is a simple prompt for testing.")],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "Takes two arguments",
      argsSchema: z.object({
        arg1: completable(z.string(), (value) =>
          ["paris", "park"].filter((one) => one.startsWith(value)),
        ),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "Brings a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        {
          role: "user",
          content: {
            type: "resource",
            resource: {
              uri,
              mimeType: "text/plain",
              text: "Embedded resource content for testing.",
            },
          },
        },
        said("Please process the embedded resource above."),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "Brings an image" }, () => ({
    messages: [
      { role: "user", content: { type: "image", data: onePixel, mimeType: "image/png" } },
      said("Please analyze the image above."),
    ],
  }));
  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks its client" },
    ({ mcpReq }) => {
      const known = acceptedContent<{ context: string }>(mcpReq.inputResponses, "user_context");
      if (known) return { messages: [said(`The context is ${known.context}.`)] };
      const user_context = inputRequired.elicit({
        message: "What context should the prompt use?",
        requestedSchema: z.object({ context: z.string() }),
      });
      return inputRequired({ inputRequests: { user_context } });
    },
  );
}
