import { MandateError } from "../../ports/mandate-error.ts";
import { isMissingPackage } from "../../ports/message-of.ts";

const packages = ["ink", "markdown-it", "react"];

/**
 * Loads the chat with the packages that draw it. They are optional: programs that import Mandate have
 * no screen, and these packages would be a third of what they install.
 *
 * @public A test calls it in a process of its own.
 */
export async function loadChat(): Promise<typeof import("./run-chat.ts")> {
  // React reads NODE_ENV once, when it is loaded. Commands of agents must not see the change.
  const { NODE_ENV: before } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    return await import("./run-chat.ts");
  } catch (cause) {
    if (!isMissingPackage(cause, packages)) throw cause;
    throw new MandateError(
      "usage",
      `chat needs packages that were left out when mandate was installed: npm install ${packages.join(" ")} (with -g if mandate was installed so). Without them, use run "…", and run --continue "…" for the next message.`,
      { cause },
    );
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}
