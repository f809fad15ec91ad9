import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type ConsentMode, consentModes } from "../../../control/folders/decide-consent.ts";
import { FolderConsents, realPathOf } from "../../../control/folders/folder-consents.ts";
import type { ControlPlane } from "../../../control/records/control-plane.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { formatAge } from "../amounts.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, localUser } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { withControl } from "../with-store.ts";

export const foldersCommand: Command = {
  name: "folders",
  usage: "[options] [list | set MODE [DIR] | forget [DIR]]",
  about:
    "Shows and changes in which folders agents may work: your answers when they first worked there. An\n" +
    "answer applies to the folder and everything below it. MODE is in-place (agents change your files),\n" +
    "copy (you review their changes first) or read-only. For a forgotten folder the next run asks again.",
  options: { json: jsonOption },
  words: { least: 0, most: 3 },
  examples: ["folders", "folders set copy ~/projects/harbour", "folders forget"],
  run: (given, io) => {
    const [word = "list", ...rest] = given.words;
    return withControl(io, async ({ plane }) => {
      if (word === "set") await set(plane, rest, io);
      else if (word === "forget") await forget(plane, rest, io);
      else if (word === "list" && rest.length === 0) await list(plane, given.flag("json"), io);
      else throw usage(`folders takes list, set or forget; it is ${JSON.stringify(word)}.`);
      return exitCode.done;
    });
  },
};

async function list(plane: ControlPlane, isJson: boolean, io: Io): Promise<void> {
  const consents = await plane.consents(localUser.id);
  if (isJson) {
    const shown = consents.map(({ folder, mode, updatedAt }) => ({ folder, mode, updatedAt }));
    printJson(io, shown);
    return;
  }
  if (consents.length === 0) {
    io.stderr.write(
      "No folder yet. The first run in a folder asks; --trust-folder answers in advance.\n",
    );
  }
  for (const { folder, mode, updatedAt } of consents) {
    const age = formatAge(io.now() - updatedAt);
    io.stdout.write(`${mode.padEnd(9)}  ${printableLine(folder)}  (${age})\n`);
  }
}

async function set(plane: ControlPlane, words: readonly string[], io: Io): Promise<void> {
  const [text = "", path = "."] = words;
  const mode: ConsentMode | undefined = consentModes.find((each) => each === text);
  if (mode === undefined) {
    throw usage(`folders set takes ${consentModes.join(", ")}; it is ${JSON.stringify(text)}.`);
  }
  const folder = realPathOf(resolve(io.cwd, path));
  if (!existsSync(folder)) throw usage(`The folder ${folder} does not exist.`);
  const options = { plane, environment: io.environment, isNamed: false, force: false };
  const folders = new FolderConsents(options);
  const decision = await folders.decide(folder, localUser.id, { answer: mode });
  if (decision.kind === "refused") {
    throw new MandateError("refused-by-policy", decision.sentence);
  }
  if (decision.kind === "allowed") await folders.accept(folder, decision, localUser);
  io.stdout.write(`Agents may work in ${printableLine(folder)}: ${mode}.\n`);
}

async function forget(plane: ControlPlane, words: readonly string[], io: Io): Promise<void> {
  const folder = realPathOf(resolve(io.cwd, words[0] ?? "."));
  if (!(await plane.withdrawConsent(folder, localUser))) {
    throw usage(`There is no answer for exactly ${folder}. ${io.program} folders lists them.`);
  }
  io.stdout.write(`Forgotten: ${printableLine(folder)}\n`);
}

function usage(sentence: string): MandateError {
  return new MandateError("usage", sentence);
}
