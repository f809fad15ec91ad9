import { basename, dirname, resolve } from "node:path";
import {
  type EffectiveField,
  effectiveProfile,
  type WaitingLayer,
} from "../../../application/effective-profile.ts";
import { describeCut, requireTrustable } from "../../../application/judge-waiting.ts";
import { isSelected, pathOf } from "../../../application/select-content.ts";
import {
  readWaiting,
  type WaitingBody,
  type WaitingContent,
  waitingContent,
} from "../../../application/waiting-content.ts";
import type { Control } from "../../../open-control.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { unknownProfile } from "../choose-profile.ts";
import type { Arguments } from "../command.ts";
import { padEnd } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, localUser } from "../io.ts";
import { printable, printableJson, printableLine, printJson, shortPaths } from "../printable.ts";
import { type Paint, styleFor } from "../style.ts";
import { withControl } from "../with-store.ts";

type Waiting = Pick<WaitingContent, "file" | "hash" | "name">;

/** Trusts files of the project by their content. */
export function trustProfiles(given: Arguments, io: Io, names: readonly string[]): Promise<number> {
  return withControl(io, async (control) => {
    const all = waitingContent(control);
    const chosen = choose(all, names, given.flag("all"), 1, io.cwd);
    // Among many, files that could not be used are left out; a file that is named is an error.
    const isMany = given.flag("all") || chosen.length > names.length;
    const { refused, trusted } = await trust(control, chosen, { io, isMany });
    const done = report("Trusted", trusted, given, io);
    return refused > 0 ? exitCode.failed : done;
  });
}

/** Withdraws the trust in files of this folder, or in configuration above it. */
export function distrustProfiles(
  given: Arguments,
  io: Io,
  names: readonly string[],
): Promise<number> {
  return withControl(io, async (control) => {
    const all = await trustedIn(control, io.cwd);
    const chosen = choose(all, names, given.flag("all"), Number.MAX_VALUE, io.cwd);
    for (const { hash } of chosen) await control.plane.withdrawTrust(hash, localUser);
    return report("No longer trusted", chosen, given, io);
  });
}

function report(verb: string, changed: readonly Waiting[], given: Arguments, io: Io): number {
  if (given.flag("json")) printJson(io, changed);
  else {
    for (const { file, name } of changed.slice(0, mostReported)) {
      const place = shortPaths(printableLine(file), io);
      io.stdout.write(`${verb}: ${printableLine(name)}  ${place}\n`);
    }
    const left = changed.length - mostReported;
    if (left > 0) io.stdout.write(`${verb}: ${left} more, ${changed.length} in all\n`);
    if (changed.length === 0) io.stderr.write("Nothing was changed.\n");
  }
  return exitCode.done;
}

const mostReported = 20;

/** A terminal shows the whole content and asks; elsewhere naming the file is the decision. */
async function trust(
  control: Control,
  chosen: readonly WaitingContent[],
  { io, isMany }: { readonly io: Io; readonly isMany: boolean },
): Promise<{ readonly trusted: readonly WaitingContent[]; readonly refused: number }> {
  // All files are checked before the first one is trusted.
  const judged = chosen.flatMap((each) => {
    try {
      return [{ each, found: requireTrustable(control, each) }];
    } catch (error) {
      if (!isMany || !(error instanceof MandateError)) throw error;
      io.stderr.write(`! ${shortPaths(printableLine(error.message), io)}\n`);
      return [];
    }
  });
  const trusted: WaitingContent[] = [];
  let asks = io.ask !== undefined;
  for (const [index, { each, found }] of judged.entries()) {
    for (const { message } of found) io.stderr.write(`! ${printableLine(message)}\n`);
    if (asks) {
      const left = judged.length - index - 1;
      io.stdout.write(describeWhole(control, each));
      const answer = await askToTrust(each, left, io);
      if (answer === "stop") break;
      if (answer === "no") continue;
      asks = answer !== "all";
    }
    await control.plane.trust(each.hash, { file: each.file, name: each.name }, localUser);
    trusted.push(each);
  }
  return { trusted, refused: chosen.length - judged.length };
}

/** With many files, one answer can decide about all that are left, seen or not. */
async function askToTrust(
  { kind, name }: WaitingContent,
  left: number,
  io: Io,
): Promise<"yes" | "no" | "all" | "stop"> {
  const others = left === 1 ? "the other one" : `the ${left} others`;
  const choices = left > 0 ? `[y/N, a: this and ${others}, q: stop]` : "[y/N]";
  const question = `Trust ${kind} ${printableLine(name)} as it is now? ${choices} `;
  const answer = await io.ask?.(question, new AbortController().signal);
  const word = answer?.trim().toLowerCase() ?? "";
  if (left > 0 && (word === "a" || word === "all")) return "all";
  if (left > 0 && (word === "q" || word === "quit")) return "stop";
  return word === "y" || word === "yes" ? "yes" : "no";
}

function describeWhole(control: Control, { hash }: WaitingContent): string {
  const { fields, file, files, prompt } = readWaiting(control, hash);
  const lines = [
    printableLine(file),
    ...fields.map(({ field, value }) => `  ${printableLine(field)}: ${printableJson(value)}`),
    ...(prompt === "" ? [] : ["", printable(prompt)]),
    ...files.flatMap(({ bytes, path, text }) => [
      "",
      `${printableLine(path)}:`,
      text === null
        ? `(${bytes} bytes that are not shown: not text, or too long)`
        : printable(text),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Trusted files below this folder, and configuration above it. */
async function trustedIn({ plane }: Control, cwd: string): Promise<readonly Waiting[]> {
  const all = await plane.trustedContent();
  return all.filter(({ file }) => isAbove(file, cwd));
}

function isAbove(file: string, cwd: string): boolean {
  const path = pathOf(file);
  const isConfig = basename(path) === "mandate.yaml";
  return path.startsWith(`${cwd}/`) || (isConfig && `${cwd}/`.startsWith(`${dirname(path)}/`));
}

function choose<Content extends Waiting>(
  all: readonly Content[],
  names: readonly string[],
  everything: boolean,
  /** How many files one name may mean: one to trust, any number to distrust. */
  most: number,
  cwd: string,
): readonly Content[] {
  if (everything) return all;
  if (names.length === 0) {
    throw new MandateError("usage", "Say which by name or path, folder or pattern, or --all.");
  }
  return names.flatMap((name) => {
    const isHash = /^[0-9a-f]{8,64}$/.test(name);
    const isMeant = (each: Content): boolean =>
      isSelected(each, name, cwd) || (isHash && each.hash.startsWith(name));
    const found = all.filter(isMeant);
    // A folder or a pattern can mean many; a name, a file or a hash means one.
    const isExact = (each: Content): boolean =>
      isHash || each.name === name || pathOf(each.file) === resolve(cwd, name);
    if (found.length > 0 && (found.length <= most || !found.some(isExact))) return found;
    const known = (found.length > 0 ? found : all).map(({ file, hash, name: each }) => {
      return `\n  ${hash.slice(0, 12)}  ${each}  ${file}`;
    });
    const list = known.length === 0 ? "Nothing does." : `There are:${known.join("")}`;
    const problem =
      found.length === 0
        ? `Nothing called "${name}" waits for that.`
        : `"${name}" is more than one thing. Look at each, and name them by what is in front.`;
    throw new MandateError("usage", `${problem} ${list}`);
  });
}

export function showProfile(
  given: Arguments,
  io: Io,
  [name, ...more]: readonly string[],
): Promise<number> {
  if (name === undefined || more.length > 0) {
    throw new MandateError("usage", "profiles show takes one name.");
  }
  return withControl(io, async (control) => {
    const shown = effectiveProfile(control.profiles, name);
    if (shown === undefined) {
      const other = waitingContent(control).find((each) => isCalled(each, name, io.cwd));
      if (other === undefined) throw unknownProfile(name, control.profiles.names());
      return showWaiting(given, io, readWaiting(control, other.hash));
    }
    if (given.flag("json")) {
      printJson(io, shown);
      return exitCode.done;
    }
    const { paint } = styleFor(io.stdout, io);
    io.stdout.write(`${paint.strong(shown.name)}\n`);
    if (shown.problem !== undefined) {
      io.stdout.write(`${paint.warn(printableLine(shown.problem))}\n`);
    }
    for (const line of table(shown.fields, paint.dim)) io.stdout.write(`${line}\n`);
    for (const { origin, ...cut } of shown.cut) {
      io.stdout.write(`  ${paint.warn("!")} ${printableLine(describeCut(cut).message)}\n`);
      io.stdout.write(paint.dim(`      ${printableLine(origin)}\n`));
    }
    if (shown.prompt !== "") io.stdout.write(`\n${printable(shown.prompt)}\n`);
    for (const layer of shown.waiting) io.stdout.write(describeWaiting(layer, paint));
    return exitCode.done;
  });
}

/** Untrusted skills and configurations are shown too, by name or path. */
function isCalled({ file, name }: WaitingContent, asked: string, cwd: string): boolean {
  return name === asked || file === resolve(cwd, asked);
}

function showWaiting(given: Arguments, io: Io, body: WaitingBody): number {
  if (given.flag("json")) {
    printJson(io, body);
    return exitCode.done;
  }
  const { paint } = styleFor(io.stdout, io);
  const title = `${body.kind} ${body.name} waits to be trusted, as ${body.hash.slice(0, 12)}`;
  io.stdout.write(`${paint.warn(printableLine(title))}\n`);
  for (const { bytes, path, text } of body.files) {
    io.stdout.write(`${paint.strong(printableLine(path))}\n`);
    io.stdout.write(`${text === null ? `(${bytes} bytes, not shown)` : printable(text)}\n`);
  }
  return exitCode.done;
}

/** Each origin has a number, so that a field and its origin fit on one line. */
function table(fields: readonly EffectiveField[], dim: (text: string) => string): string[] {
  const places = [...new Set(fields.map(({ origin }) => origin))];
  const widest = Math.max(0, ...fields.map(({ field }) => field.length));
  return [
    ...fields.map(({ field, origin, value }) => {
      const number = dim(`[${places.indexOf(origin) + 1}]`);
      return `  ${number} ${padEnd(field, widest)}  ${describe(value)}`;
    }),
    "",
    ...places.map((place, index) => dim(`  [${index + 1}] ${printableLine(place)}`)),
  ];
}

/** The whole content that would be trusted. */
function describeWaiting({ fields, hash, origin, prompt }: WaitingLayer, paint: Paint): string {
  const lines = [
    "",
    paint.warn(`Waits to be trusted, as ${hash.slice(0, 12)}: ${printableLine(origin)}`),
    ...fields.map(({ field, value }) => `  ${printableLine(field)}: ${printableJson(value)}`),
    "",
    printable(prompt),
  ];
  return `${lines.join("\n")}\n`;
}

function describe(value: unknown): string {
  if (typeof value === "string") return printable(value).replaceAll(/\s+/g, " ").trim();
  if (!Array.isArray(value)) return printableJson(value);
  if (value.length === 0) return "none";
  const isPlain = value.every((each) => typeof each === "string");
  return isPlain ? describe(value.join(", ")) : printableJson(value);
}
