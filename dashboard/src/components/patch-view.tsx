interface PatchViewProps {
  /** Hidden characters are visible in it already. */
  readonly children: string;
}

const tones: Readonly<Record<string, string>> = { "+": "text-good", "-": "text-bad" };
const grounds: Readonly<Record<string, string>> = {
  "+": "light-dark(#eaf6ee, #10251a)",
  "-": "light-dark(#fdeeed, #2b1716)",
};

/**
 * A change that a person decides about, all of it. Each line of a file keeps its sign, so that no content
 * can pass for the head of another file.
 */
export function PatchView({ children }: PatchViewProps) {
  let isHunk = false;
  return (
    <section
      aria-label="Change"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
      tabIndex={0}
      className="shrink-0 overflow-x-auto rounded-md border border-line bg-panel font-mono text-xs leading-[18px]"
    >
      <div className="w-max min-w-full py-1">
        {children
          .trimEnd()
          .split("\n")
          .map((line, index) => {
            const isHead = line.startsWith("diff --git ");
            isHunk = !isHead && (line.startsWith("@@") || (isHunk && /^(?:[-+ \\]|$)/.test(line)));
            const sign = isHunk && !line.startsWith("@@") ? line.slice(0, 1) : "";
            return (
              <div
                // biome-ignore lint/suspicious/noArrayIndexKey: lines of one patch never move.
                key={index}
                className={`flex px-3 whitespace-pre ${isHead ? "border-b border-line pb-1 font-semibold not-first:mt-2" : sign === "" ? "text-soft" : ""}`}
                style={grounds[sign] === undefined ? undefined : { background: grounds[sign] }}
              >
                <span className={`w-4 shrink-0 select-none ${tones[sign] ?? ""}`}>
                  {sign === "-" ? "−" : sign}
                </span>
                <bdi dir="ltr">{isHead ? nameIn(line) : sign === "" ? line : line.slice(1)}</bdi>
              </div>
            );
          })}
      </div>
    </section>
  );
}

/** The path of a file, or both where they differ. */
function nameIn(head: string): string {
  const names = head.slice("diff --git ".length);
  const path = names.slice(2, (names.length - 1) / 2);
  return names === `a/${path} b/${path}` ? path : names;
}
