import { relative } from "node:path";
import type { SetAside } from "./set-aside.ts";

const mostNamed = 10;

/** Undefined where nothing was planted. */
export function describePlanted(root: string, planted: readonly SetAside[]): string | undefined {
  if (planted.length === 0) return undefined;
  const each = planted.slice(0, mostNamed).map(({ place, now, problem }) => {
    const name = shown(root, place);
    if (now !== undefined) return `"${name}" (now "${shown(root, now)}")`;
    return `"${name}" (it is still there: ${problem})`;
  });
  return (
    `While commands ran, there appeared what steers git or Mandate itself and is not yours to ` +
    `make: ${listed(each, planted.length)}. If it is needed, say so in your answer and a person ` +
    "will do it."
  );
}

export function describeReadOnly(root: string, closed: readonly string[]): string | undefined {
  if (closed.length === 0) return undefined;
  return (
    `Read-only for this command, since not everything there that steers git or Mandate could be ` +
    `protected by itself: ${named(root, closed)}.`
  );
}

export function describeUnseen(root: string, unseen: readonly string[]): string | undefined {
  if (unseen.length === 0) return undefined;
  return (
    `It left more than could be looked through for what steers git or Mandate: ` +
    `${named(root, unseen)}. Remove there what is not needed, and say in your answer that a ` +
    "person should look at it before they run git in it."
  );
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
  return relative(root, place) || ".";
}
