import { countOf } from "../../../../src/surfaces/cli/amounts.ts";
import { Text } from "../../components/text.tsx";
import { useRunChanges } from "../../data/run-changes.ts";
import { Link } from "../../router/link.tsx";

const mostNamed = 50;
const words = { added: "A", removed: "D", changed: "M" };
const titles = { added: "added", removed: "removed", changed: "changed" };

/** Files that changed in the run's folder, and changes that a person has to decide about. */
export function RunFiles({ runId }: { readonly runId: string }) {
  const { data } = useRunChanges(runId);
  if (data === undefined) return null;
  const { files, hasCommands, kept, total } = data;
  return (
    <>
      {kept.length > 0 && (
        <section
          aria-label="Kept changes"
          className="border-b border-line border-l-[3px] border-l-warn px-4 py-3"
        >
          <h2 className="mb-1 text-xs font-semibold text-warn">
            Kept changes, not merged ({kept.length})
          </h2>
          <p className="text-soft">
            {countOf(kept.length, "agent")} ended before its changes were merged. Review them to
            merge or discard.
          </p>
          <p className="mt-1 flex flex-wrap gap-3">
            {kept.slice(0, mostNamed).map((id) => (
              <Link
                key={id}
                to={`/delegations/${id}?tab=changes`}
                className="text-accent hover:underline"
              >
                Review {id}
              </Link>
            ))}
          </p>
        </section>
      )}
      {(files.length > 0 || hasCommands) && (
        <section aria-label="Files changed" className="border-b border-line px-4 py-3">
          <h2 className="mb-1 text-xs font-semibold text-soft">Files changed ({total})</h2>
          <ul>
            {files.slice(0, mostNamed).map(({ change, lines, path }) => (
              <li key={path} className="flex items-baseline gap-2 text-xs">
                <abbr
                  title={titles[change]}
                  className={`w-3 shrink-0 font-mono no-underline ${change === "added" ? "text-good" : change === "removed" ? "text-bad" : "text-soft"}`}
                >
                  {words[change]}
                </abbr>
                <Text className="min-w-0 truncate font-mono" most={400}>
                  {path}
                </Text>
                {lines !== null && (
                  <span className="ml-auto shrink-0">
                    <span className="text-good">+{lines.added}</span>{" "}
                    <span className="text-bad">−{lines.removed}</span>
                  </span>
                )}
              </li>
            ))}
          </ul>
          {total > mostNamed && (
            <p className="text-xs text-soft">and {(total - mostNamed).toLocaleString("en")} more</p>
          )}
          {hasCommands && (
            <p className="mt-1 text-xs text-soft">
              Commands ran in this folder and may have changed other files.
            </p>
          )}
        </section>
      )}
    </>
  );
}
