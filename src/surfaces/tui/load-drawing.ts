import { isMissingPackage } from "../../ports/is-missing-package.ts";
import { MandateError } from "../../ports/mandate-error.ts";

export interface Drawing {
  readonly createElement: typeof import("react").createElement;
  readonly render: typeof import("ink").render;
  readonly ChatApp: typeof import("./chat-app.ts").ChatApp;
}

/**
 * What draws comes from optional packages: programs that import Mandate have no screen, and these
 * would be a third of what they install.
 */
export async function loadDrawing(): Promise<Drawing> {
  try {
    return await loadQuietly();
  } catch (cause) {
    if (!isMissingPackage(cause, ["ink", "react"])) throw cause;
    throw new MandateError(
      "usage",
      'chat needs packages that are not installed beside mandate: npm install ink react (with -g if mandate was installed so). Without them, use run "…", and run --continue "…" for the next message.',
      { cause },
    );
  }
}

/** React looks once, when it is loaded, whether to check itself. Commands of agents see nothing of it. */
async function loadQuietly(): Promise<Drawing> {
  const { NODE_ENV: before } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    const [{ render }, { createElement }, { ChatApp }] = await Promise.all([
      import("ink"),
      import("react"),
      import("./chat-app.ts"),
    ]);
    return { render, createElement, ChatApp };
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}
