/** Every key of an options object, so that the compiler says when one is forgotten. */
export type Keys<Options> = Readonly<Record<keyof Options, true>>;

/** A key that nobody knows was meant to do something: `runID` would follow every run there is. */
export function refuseUnknown(call: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const keys = Object.keys(known).join(", ");
  throw new TypeError(`${call}: "${unknown}" is not known here. It takes: ${keys}.`);
}
