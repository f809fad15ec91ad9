import { type WaitingContent, waitingContent } from "../../../commands/waiting-content.ts";
import type { Control } from "../../../open-control.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../arguments.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { withControl } from "../with-control.ts";

type Waiting = Pick<WaitingContent, "file" | "hash" | "name">;

/** Acknowledges what came with the project, by its content, or takes that back. */
export function trustProfiles(
  given: Arguments,
  io: Io,
  names: readonly string[],
  isTrusted: boolean,
): Promise<number> {
  return withControl(io, async (control) => {
    const by = { id: "local", role: "operator" } as const;
    const chosen = isTrusted
      ? choose(waitingContent(control), names, given.flag("all"), 1)
      : choose(await trustedIn(control, io.cwd), names, given.flag("all"), Number.MAX_VALUE);
    for (const { file, hash, name } of chosen) {
      if (isTrusted) await control.plane.acknowledge(hash, { file, name }, by);
      else await control.plane.withdrawAcknowledgement(hash, by);
    }
    if (given.flag("json")) io.stdout.write(`${printableJson(chosen, 2)}\n`);
    else {
      const verb = isTrusted ? "Trusted" : "No longer trusted";
      for (const { file, name } of chosen) {
        io.stdout.write(`${verb}: ${printableLine(name)}  ${printableLine(file)}\n`);
      }
      if (chosen.length === 0) io.stderr.write("There is nothing here that waits to be trusted.\n");
    }
    return exitCode.done;
  });
}

/** Of this project: what was trusted elsewhere is for its own folder to say. */
async function trustedIn({ plane }: Control, cwd: string): Promise<readonly Waiting[]> {
  const all = await plane.acknowledgements();
  return all.filter(({ file }) => file.includes(`${cwd}/`));
}

function choose(
  all: readonly Waiting[],
  names: readonly string[],
  everything: boolean,
  /** Who trusts looks at one thing at a time; to stop trusting, a name is enough. */
  most: number,
): readonly Waiting[] {
  if (everything) return all;
  if (names.length === 0) {
    throw new MandateError("usage", "Say which by name, or --all.");
  }
  return names.flatMap((name) => {
    const isHash = /^[0-9a-f]{8,64}$/.test(name);
    const found = all.filter(
      (each) => each.name === name || (isHash && each.hash.startsWith(name)),
    );
    if (found.length > 0 && found.length <= most) return found;
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
