/**
 * How well a path fits what somebody typed of it: the greater, the better; undefined: not at all.
 * The letters have to be there in their order. A whole piece of the file's name counts most, then
 * one of the path, then beginnings of words; between equals the shorter path wins.
 */
export function scorePath(path: string, wanted: string): number | undefined {
  const [text, letters] = [path.toLowerCase(), wanted.toLowerCase()];
  const nameAt = text.lastIndexOf("/") + 1;
  const short = -text.length / 10_000;
  if (letters === "") return short - depthOf(text);
  const inName = text.indexOf(letters, nameAt);
  if (inName >= 0) {
    const isStart = inName === nameAt;
    const isWhole = isStart && /^(?:\.|$)/.test(text.slice(nameAt + letters.length));
    return (isWhole ? 5 : isStart ? 4 : 3) + short;
  }
  if (text.includes(letters)) return 2 + short;
  const share = shareOfBeginnings(text, letters);
  return share === undefined ? undefined : share + short;
}

/** Near the top first, where nothing was said. */
function depthOf(path: string): number {
  return path.split("/").length;
}

/** Of the letters in their order, how many begin a word; undefined where they are not all there. */
function shareOfBeginnings(text: string, letters: string): number | undefined {
  let beginnings = 0;
  let from = 0;
  for (const letter of letters) {
    const at = text.indexOf(letter, from);
    if (at < 0) return undefined;
    if (at === 0 || /[/._\- ]/.test(text[at - 1] ?? "")) beginnings += 1;
    from = at + letter.length;
  }
  return beginnings / letters.length;
}
