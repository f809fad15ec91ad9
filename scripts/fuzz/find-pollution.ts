/** What everything inherits from. */
const shared: Readonly<Record<string, object>> = {
  Object: Object.prototype,
  Array: Array.prototype,
  Function: Function.prototype,
  String: String.prototype,
  Number: Number.prototype,
  Map: Map.prototype,
  Promise: Promise.prototype,
};

const before = new Map(Object.entries(shared).map(([name, each]) => [name, keysOf(each)]));

/** A sentence when an input has changed what every object has, since this file was loaded. */
export function findPollution(): string | undefined {
  for (const [name, prototype] of Object.entries(shared)) {
    const known = before.get(name);
    const added = [...keysOf(prototype)].filter((key) => known?.has(key) !== true);
    if (added.length > 0) return `${name}.prototype has got ${added.map(String).join(", ")}.`;
  }
  return undefined;
}

function keysOf(object: object): ReadonlySet<PropertyKey> {
  return new Set(Reflect.ownKeys(object));
}
