import { type CharacterSet, characterSet, hasCodePoint } from "./character-set.ts";

/** The set together with every character that differs from one of its own in case alone. */
export function foldCase(set: CharacterSet): CharacterSet {
  known ??= collectGroups();
  const more = [...set];
  for (const [codePoint, group] of known) {
    if (!hasCodePoint(set, codePoint)) continue;
    for (const other of group) more.push(other, other);
  }
  return characterSet(more);
}

/** The usual case, without a walk through all letters there are. */
export function foldCharacter(codePoint: number): CharacterSet {
  known ??= collectGroups();
  const group = known.get(codePoint) ?? [codePoint];
  return characterSet(group.flatMap((other) => [other, other]));
}

/** Of each letter those that are the same but for case, itself included; worked out once. */
let known: ReadonlyMap<number, readonly number[]> | undefined;

/** The Turkish letters are their own: folding them would make `i` match what nobody means. */
const unfolded: ReadonlySet<number> = new Set([0x130, 0x131]);

function collectGroups(): ReadonlyMap<number, readonly number[]> {
  const byKey = new Map<number, number[]>();
  for (let codePoint = 0x41; codePoint <= 0x1ffff; codePoint += 1) {
    const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
    if (isSurrogate || unfolded.has(codePoint)) continue;
    const text = String.fromCodePoint(codePoint);
    const upper = single(text.toUpperCase(), codePoint);
    // By way of the upper case: σ and ς, k and the Kelvin sign meet only there.
    const key = single(String.fromCodePoint(upper).toLowerCase(), upper);
    if (key === codePoint && upper === codePoint) continue;
    const group = byKey.get(key);
    if (group === undefined) byKey.set(key, [codePoint]);
    else group.push(codePoint);
  }
  const byMember = new Map<number, readonly number[]>();
  for (const [key, others] of byKey) {
    const group = [...new Set([key, ...others])];
    for (const codePoint of group) byMember.set(codePoint, group);
  }
  return byMember;
}

/** Some letters grow in the other case (ß, SS); a search by single characters leaves those be. */
function single(text: string, otherwise: number): number {
  const codePoint = text.codePointAt(0) ?? otherwise;
  return String.fromCodePoint(codePoint) === text ? codePoint : otherwise;
}
