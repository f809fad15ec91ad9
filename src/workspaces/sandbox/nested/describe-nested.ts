import { relative } from "node:path";
import { revealHidden } from "../../../ports/visible-text.ts";
import type { AbandonedPlace } from "./guard-records.ts";
import type { SetAside } from "./set-aside.ts";

const mostNamed = 10;

/** Undefined where nothing was planted. */
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

/** For a person, about a process that was killed while commands ran. */
export function describeAbandoned({ planted, root, unseen }: AbandonedPlace): string {
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
