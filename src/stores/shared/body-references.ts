import { numberOf } from "../../ports/identity.ts";

/**
 * Everything in a stored text that could be the hash of a body. It is looked for in the text and not
 * in fields: what is referred to in an unexpected way is kept.
 */
export function hashesIn(text: string): readonly string[] {
  return text.match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g) ?? [];
}

/** The delegations that a batch of events creates: their contracts refer to bodies as well. */
export function createdIn(events: string): readonly number[] {
  // Inside of a payload the quotation marks would be escaped.
  return [...events.matchAll(/\["agent\.subagent_created","([0-9a-f]+)",/g)].flatMap(
    ([, id = ""]) => numberOf(id) ?? [],
  );
}

/** The delegations of other runs that those of a batch go on from. */
export function resumedFromIn(events: string): readonly string[] {
  return [...events.matchAll(/[{,]"resumed_from":"([0-9a-f]+)"/g)].map(([, id = ""]) => id);
}
