import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Button } from "../../components/button.tsx";
import { formatBytes } from "../../components/format-bytes.ts";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useResource } from "../../data/use-resource.ts";

type Waiting = Operations["getWaiting"]["reply"];

const columns: readonly Column<Waiting["fields"][number]>[] = [
  {
    title: "Field",
    cell: ({ field }) => <Text className="block min-w-24 font-mono text-xs">{field}</Text>,
  },
  { title: "Value", cell: ({ value }) => <LongText>{wholeText(value)}</LongText> },
];

interface WaitingViewProps {
  readonly hash: string;
  readonly onDone: () => void;
}

/** All of what waits, to the last character, and the button that lets exactly this count. */
export function WaitingView({ hash, onDone }: WaitingViewProps) {
  const { error, reload, value } = useResource(`waiting ${hash}`, (signal) =>
    client.getWaiting({ hash }, { signal }),
  );
  const trust = useAction(async () => {
    try {
      const { name } = await client.trustWaiting({ hash });
      showToast(`${name} counts from now on, as it is.`);
    } finally {
      // Also when it is something else by now: then that waits.
      onDone();
    }
  });
  const back = <Button onClick={onDone}>Back</Button>;
  if (error !== undefined) {
    return (
      <>
        <Problem error={error} onRetry={reload} />
        <div className="px-4">{back}</div>
      </>
    );
  }
  if (value === undefined) return null;
  const { fields, file, files, kind, name, prompt } = value;
  return (
    <article className="flex min-h-0 flex-1 flex-col">
      <header className="shrink-0 border-b border-line px-4 py-3">
        <h2 className="text-base font-semibold wrap-anywhere">
          <Text>{name}</Text> <span className="text-xs font-normal text-soft">{kind}</span>
        </h2>
        <p className="font-mono text-xs wrap-anywhere text-soft">
          <Text>{file}</Text> · sha256 {hash.slice(0, 12)}
        </p>
      </header>
      <div
        role="region"
        aria-label="What would count"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
        tabIndex={0}
        className="row flex min-h-0 flex-1 flex-col gap-4 overflow-auto py-3"
      >
        {fields.length > 0 && (
          <Table label="Fields" columns={columns} rows={fields} keyOf={({ field }) => field} />
        )}
        {prompt !== "" && (
          <section className="px-4">
            <h3 className="mb-1 font-semibold">Prompt</h3>
            <LongText className="rounded-md border border-line p-3">{prompt}</LongText>
          </section>
        )}
        {files.map(({ bytes, path, text }) => (
          <section key={path} className="px-4">
            <h3 className="mb-1 font-mono text-xs font-semibold wrap-anywhere">
              <Text>{path}</Text>{" "}
              <span className="font-normal text-soft">{formatBytes(bytes)}</span>
            </h3>
            {text === null ? (
              <p className="text-soft">
                Not text, or too long to be shown here: look at the file itself before you trust it.
              </p>
            ) : (
              <LongText className="rounded-md border border-line p-3">{text}</LongText>
            )}
          </section>
        ))}
      </div>
      <footer className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line px-4 py-2">
        <Button tone="main" disabled={trust.isBusy} onClick={() => void trust.run()}>
          Trust exactly this
        </Button>
        {back}
        <span className="text-xs text-soft">When a character of it changes, it waits again.</span>
      </footer>
    </article>
  );
}

/** Nothing is left out: a person must see all that they trust. */
function wholeText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
