import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { z } from "zod";
import { writeDurablySync } from "../../files.ts";
import { messageOf } from "../../ports/message-of.ts";
import { revealHidden } from "../../ports/visible-text.ts";
import { identifyThisProcess, isProcessAlive } from "../processes/process-start.ts";
import { placeholderPathsOf } from "../protected/protection.ts";
import { ProtectedWalk } from "./protected-walk.ts";
import {
  type Before,
  isSettled,
  type SetAside,
  type Swept,
  type SweptPlace,
  sweep,
} from "./sweep.ts";

const recordSchema = z.object({
  root: z.string(),
  writeRoots: z.array(z.string()),
  forbidden: z.array(z.string()),
  places: z.array(z.tuple([z.string(), z.number()])),
  loose: z.array(z.tuple([z.string(), z.string()])),
  covered: z.array(z.string()),
  closed: z.array(z.string()),
});

/** What the commands of a killed process left in a workspace, and what was done about it. */
interface AbandonedPlace {
  readonly root: string;
  readonly planted: readonly SetAside[];
  readonly unseen: readonly string[];
}

/**
 * Records on disk what existed before a command, for as long as the command runs. A killed process
 * cannot sweep, so the next process reads the record and sweeps. One file for each workspace.
 */
export class GuardRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns a function that removes the record. */
  write({ root, writeRoots, forbidden = [] }: SweptPlace, before: Before): () => void {
    const name = `${randomBytes(6).toString("hex")}.${identifyThisProcess()}`;
    const file = join(this.#folder, name);
    const record: z.infer<typeof recordSchema> = {
      ...{ root, writeRoots: [...writeRoots], forbidden: [...forbidden] },
      places: [...before.places],
      ...{ loose: [...before.loose], covered: [...before.covered], closed: [...before.closed] },
    };
    writeDurablySync(file, JSON.stringify(record));
    return () => rmSync(file, { force: true });
  }

  /**
   * Sweeps for every process that is gone. If something could not be set aside, the next start
   * tries again.
   */
  async sweepAbandoned(): Promise<readonly AbandonedPlace[]> {
    const swept: AbandonedPlace[] = [];
    for (const name of namesIn(this.#folder)) {
      if (isProcessAlive(name.slice(name.indexOf(".") + 1))) continue;
      const file = join(this.#folder, name);
      const record = readRecord(file);
      if (record === undefined) {
        rmSync(file, { force: true });
        continue;
      }
      const before = {
        ...{ places: new Map(record.places), closed: record.closed },
        ...{ loose: new Map(record.loose), covered: new Set(record.covered) },
      };
      const { planted, unseen } = await sweepSafely(record, before);
      removePlaceholders(record.root, before);
      if (planted.length + unseen.length > 0) swept.push({ root: record.root, planted, unseen });
      if (isSettled(planted)) rmSync(file, { force: true });
    }
    return swept;
  }
}

/** An unreadable tree must not prevent Mandate from starting. */
async function sweepSafely(place: SweptPlace, before: Before): Promise<Swept> {
  try {
    return await sweep(place, new ProtectedWalk(), before);
  } catch (error) {
    return { planted: [{ place: place.root, problem: messageOf(error) }], unseen: [] };
  }
}

function readRecord(file: string): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // An incomplete file of a process that was killed while writing it: its command had not
    // started.
    return undefined;
  }
}

/** Removes the empty folders that stood where a command must not create anything. */
function removePlaceholders(root: string, before: Before): void {
  for (const place of [...placeholderPathsOf(root), ...before.covered]) {
    if (before.places.has(place)) continue;
    try {
      rmdirSync(place);
    } catch {
      // Missing, not empty, or no folder: not created by Mandate.
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const mostNamed = 10;

/** Undefined if nothing was planted. */
export function describePlanted(root: string, planted: readonly SetAside[]): string | undefined {
  if (planted.length === 0) return undefined;
  return (
    `While commands ran, there appeared what agents cannot make, since git, Mandate or another ` +
    `program obeys it without being asked: ${asideIn(root, planted)}. Work in /tmp if you need it for a ` +
    "test. If it must be in the workspace, say so in your answer and a person will do it."
  );
}

export function describeReadOnly(root: string, closed: readonly string[]): string | undefined {
  if (closed.length === 0) return undefined;
  return (
    `Read-only for this command, since not everything there that programs obey without being ` +
    `asked could be protected by itself: ${named(root, closed)}.`
  );
}

export function describeUnseen(root: string, unseen: readonly string[]): string | undefined {
  if (unseen.length === 0) return undefined;
  return (
    `It left more than could be looked through for what programs obey without being asked: ` +
    `${named(root, unseen)}. Remove there what is not needed, and say in your answer that a ` +
    "person should look at it before they run git in it."
  );
}

/** Cleans up for a killed process: it could not look at what its commands left. */
export async function sweepAfterKilled(records: GuardRecords): Promise<void> {
  for (const abandoned of await records.sweepAbandoned()) {
    process.emitWarning(describeAbandoned(abandoned), { type: "MandateWarning" });
  }
}

/** For a person, after a process was killed while commands ran. */
function describeAbandoned({ planted, root, unseen }: AbandonedPlace): string {
  const sentences = [`A Mandate process was killed while its commands ran in "${root}".`];
  if (planted.length > 0) {
    sentences.push(
      `What programs obey without being asked had appeared there: ${asideIn(root, planted)}. ` +
        "Rename it back if it is yours.",
    );
  }
  if (unseen.length > 0) {
    sentences.push(`Not all of it could be looked through: ${named(root, unseen)}.`);
  }
  return sentences.join(" ");
}

function asideIn(root: string, planted: readonly SetAside[]): string {
  const each = planted.slice(0, mostNamed).map(({ place, now, problem }) => {
    const name = shown(root, place);
    if (now !== undefined) return `"${name}" (now "${shown(root, now)}")`;
    return `"${name}" (it is still there: ${problem})`;
  });
  return listed(each, planted.length);
}

function named(root: string, places: readonly string[]): string {
  const names = places.slice(0, mostNamed).map((place) => `"${shown(root, place)}"`);
  return listed(names, places.length);
}

function listed(names: readonly string[], all: number): string {
  const more = all - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

function shown(root: string, place: string): string {
  return revealHidden(relative(root, place)).replaceAll("\n", "\u240a") || ".";
}
