import { existsSync } from "node:fs";
import { waitingContent } from "../../application/waiting-content.ts";
import { type ConsentMode, consentModes } from "../../control/folders/decide-consent.ts";
import {
  type ConsentCall,
  FolderConsents,
  realPathOf,
  refusalOf,
  refusalOfBroad,
} from "../../control/folders/folder-consents.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime } from "../../runtime.ts";
import { countOf } from "./amounts.ts";
import { type Arguments, type CommandOption, flag } from "./command.ts";
import { wrapFor } from "./display-width.ts";
import { type Io, localUser } from "./io.ts";
import { printableLine } from "./printable.ts";
import { styleFor } from "./style.ts";
import { withControl } from "./with-store.ts";

/** The options of every command that starts work in a folder. */
export const consentOptions: Readonly<Record<string, CommandOption>> = {
  "trust-folder": {
    type: "optional",
    value: "MODE",
    implied: "in-place",
    help: "consent to work in this folder: in-place, copy or read-only",
  },
  force: flag("work even in your home folder or /, for this call"),
};

interface Asked {
  readonly runtime: Runtime;
  readonly given: Arguments;
  readonly io: Io;
}

/**
 * How agents may work in the folder: by the flags of this call, an earlier answer, or the answer of the
 * person at the terminal, who is asked once. Otherwise throws "refused-by-policy". The engine applies
 * the mode; null: no folder.
 */
export async function requireConsent(
  path: string | null,
  { given, io, runtime }: Asked,
  call: Pick<ConsentCall, "isNamed"> = {},
): Promise<ConsentMode | null> {
  if (path === null) return null;
  if (!existsSync(path)) throw new MandateError("usage", `The folder ${path} does not exist.`);
  // Resolved once, so that the answer is for the folder that the person was shown.
  const folder = realPathOf(path);
  const { folders } = runtime;
  const said = { ...call, answer: modeOf(given), force: given.flag("force") };
  let decision = await folders.decide(folder, localUser.id, {
    ...said,
    canAsk: io.ask !== undefined,
  });
  if (decision.kind === "ask") {
    const answer = await askConsent(folder, { given, io, runtime });
    decision = await folders.decide(folder, localUser.id, { ...said, answer });
  }
  if (decision.kind !== "allowed") {
    throw new MandateError("refused-by-policy", refusalOf(decision, folder));
  }
  await folders.accept(folder, decision, localUser);
  const { because, mode } = decision;
  if (because === "memory" && mode !== "in-place" && !given.flag("quiet")) {
    const reminder = `${reminders[mode]}, as you answered. Change it: ${io.program} folders\n`;
    io.stderr.write(wrapFor(io.stderr, reminder));
  }
  return mode;
}

const reminders = {
  copy: "Agents work in a copy of this folder, and you review their changes",
  "read-only": "Agents change nothing in this folder",
} as const;

/** `init` consents to work in its folder: the home folder and / need --force. */
export function requireProjectFolder(given: Arguments, io: Io): void {
  const refusal = refusalOfBroad(io.cwd, io.environment);
  if (refusal === undefined || given.flag("force")) return;
  throw new MandateError("refused-by-policy", refusal);
}

/** `init` in a folder is consent to work in it. An earlier answer stays. */
export async function consentByInit(given: Arguments, io: Io): Promise<void> {
  const mode = await withControl(io, async ({ plane }) => {
    const options = { plane, environment: io.environment, isNamed: false, force: false };
    const folders = new FolderConsents(options);
    const folder = realPathOf(io.cwd);
    const known = await folders.decide(folder, localUser.id);
    const decision =
      known.kind === "allowed"
        ? known
        : await folders.decide(folder, localUser.id, { answer: "in-place" });
    if (decision.kind !== "allowed") return undefined;
    await folders.accept(folder, decision, localUser);
    return decision.mode;
  });
  if (mode === undefined || given.flag("json")) return;
  const said = `Agents may work in this folder: ${mode}. Change it: ${io.program} folders\n`;
  io.stdout.write(wrapFor(io.stdout, said));
}

function modeOf(given: Arguments): ConsentMode | undefined {
  const text = given.text("trust-folder");
  if (text === undefined) return undefined;
  const mode = consentModes.find((each) => each === text);
  if (mode !== undefined) return mode;
  throw new MandateError(
    "usage",
    `--trust-folder takes ${consentModes.join(", ")}, or no value for in-place; it is ${JSON.stringify(text)}.`,
  );
}

/** Enter means no, so that a key pressed too early grants nothing. */
async function askConsent(folder: string, { io, runtime }: Asked): Promise<ConsentMode> {
  const { ask } = io;
  if (ask === undefined)
    throw new MandateError("refused-by-policy", refusalOf({ kind: "ask" }, folder));
  const control = new AbortController();
  const release = io.onSignal(() => control.abort());
  try {
    io.stderr.write(introduction(folder, runtime, io));
    for (;;) {
      const answer = (await ask("1, 2 or 3 (Enter: no): ", control.signal)).trim();
      if (/^(?:n|no|q|quit)?$/i.test(answer)) break;
      const mode = modeIn(answer);
      if (mode !== undefined) return mode;
      io.stderr.write("Type 1, 2 or 3, or press Enter to start nothing.\n");
    }
  } catch (error) {
    // Ctrl-C, or the end of the input: no answer is no consent.
    throw new MandateError("refused-by-policy", refusalOf({ kind: "ask" }, folder), {
      cause: error,
    });
  } finally {
    release();
  }
  throw new MandateError("refused-by-policy", refusalOf({ kind: "ask" }, folder));
}

function modeIn(answer: string): ConsentMode | undefined {
  const word = answer.toLowerCase().replaceAll(" ", "-");
  return consentModes[["1", "2", "3"].indexOf(word)] ?? consentModes.find((each) => each === word);
}

function introduction(folder: string, { control }: Runtime, io: Io): string {
  const { paint } = styleFor(io.stderr, io);
  const waiting = waitingContent(control).length;
  return [
    "Agents have not worked in this folder before:",
    `  ${paint.strong(printableLine(folder))}`,
    ...(waiting > 0
      ? [`  ${countOf(waiting, "agent or skill file")} in it without effect until you trust them`]
      : []),
    "They can read its files and run commands in it. How may they work here?",
    `  1  in place   they change your files`,
    `  2  in a copy  you review their changes before they reach your files`,
    `  3  read-only  they change nothing`,
    "",
  ].join("\n");
}
