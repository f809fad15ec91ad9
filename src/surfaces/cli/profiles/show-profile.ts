import { resolve } from "node:path";
import {
  type EffectiveField,
  effectiveProfile,
  type WaitingLayer,
} from "../../../application/effective-profile.ts";
import { describeCut } from "../../../application/judge-waiting.ts";
import { readWaiting, type WaitingBody } from "../../../application/waiting-body.ts";
import { type WaitingContent, waitingContent } from "../../../application/waiting-content.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { padEnd } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printable, printableJson, printableLine } from "../printable.ts";
import { type Paint, styleFor } from "../style.ts";
import { withControl } from "../with-control.ts";
import { unknownProfile } from "./unknown-profile.ts";

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
      io.stdout.write(`${printableJson(shown, 2)}\n`);
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

/** A skill or a configuration that waits is looked at here as well, by its name or its path. */
function isCalled({ file, name }: WaitingContent, asked: string, cwd: string): boolean {
  return name === asked || file === resolve(cwd, asked);
}

function showWaiting(given: Arguments, io: Io, body: WaitingBody): number {
  if (given.flag("json")) {
    io.stdout.write(`${printableJson(body, 2)}\n`);
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

/** Each place has a number, so that a field and where it came from fit on one line. */
function table(fields: readonly EffectiveField[], dim: (text: string) => string): string[] {
  const places = [...new Set(fields.map(({ origin }) => origin))];
  const widest = Math.max(0, ...fields.map(({ field }) => field.length));
  return [
    ...fields.map(({ field, origin, value }) => {
      const number = dim(`[${places.indexOf(origin) + 1}]`);
      return `  ${number} ${padEnd(field, widest)}  ${printableLine(describe(value))}`;
    }),
    "",
    ...places.map((place, index) => dim(`  [${index + 1}] ${printableLine(place)}`)),
  ];
}

/** All that would be trusted, as it was written. */
function describeWaiting({ fields, hash, origin, prompt }: WaitingLayer, paint: Paint): string {
  const lines = [
    "",
    paint.warn(`Waits to be trusted, as ${hash.slice(0, 12)}: ${printableLine(origin)}`),
    ...fields.map(({ field, value }) => `  ${field}: ${printableLine(JSON.stringify(value))}`),
    "",
    printable(prompt),
  ];
  return `${lines.join("\n")}\n`;
}

function describe(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  if (value.length === 0) return "none";
  const isPlain = value.every((each) => typeof each === "string");
  return isPlain ? value.join(", ") : JSON.stringify(value);
}
