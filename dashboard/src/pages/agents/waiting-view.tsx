import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Button } from "../../components/button.tsx";
import { formatBytes } from "../../components/format-bytes.ts";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { diffLines } from "./diff-lines.ts";

type Waiting = Operations["getWaiting"]["reply"];

const columns: readonly Column<Waiting["fields"][number]>[] = [
  {
    title: "Field",
    cell: ({ field }) => <Text className="block min-w-24 font-mono text-xs">{field}</Text>,
  },
  { title: "In this file", cell: ({ value }) => <LongText>{wholeText(value)}</LongText> },
];

interface WaitingViewProps {
  readonly hash: string;
  readonly onDone: () => void;
}

/** All of what waits, to the last character, and the button that lets exactly this count. */
export function WaitingView({ hash, onDone }: WaitingViewProps) {
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["waiting", hash],
    load: (signal) => client.getWaiting({ hash }, { signal }),
  });
  // What would change: a profile of this name may be in effect without this file.
  const profile = useLiveQuery({
    key: ["profile-in-effect", value?.name ?? ""],
    load: async (signal) =>
      value?.kind === "profile"
        ? client.getProfile({ profile: value.name }, { signal }).catch(() => null)
        : null,
  });
  const trust = useAction(async () => {
    try {
      const { name } = await client.trustWaiting({ hash });
      showToast(`${name} is trusted.`);
    } finally {
      // Also when it is something else by now: then that waits.
      onDone();
    }
  });
  const back = <Button onClick={onDone}>Back</Button>;
  if (error !== null) {
    return (
      <>
        <Problem error={error} onRetry={refetch} />
        <div className="px-4">{back}</div>
      </>
    );
  }
  if (value === undefined) return null;
  const { fields, file, files, isChanged, kind, name, prompt } = value;
  const inEffect = profile.data ?? undefined;
  const now: Column<Waiting["fields"][number]> = {
    title: "In effect now",
    cell: ({ field, value: wanted }) => {
      const known = inEffect?.fields.find((one) => one.field === field);
      if (known === undefined) return <span className="text-soft">not set</span>;
      const text = wholeText(known.value);
      return text === wholeText(wanted) ? (
        <span className="text-soft">the same</span>
      ) : (
        <LongText>{text}</LongText>
      );
    },
  };
  return (
    <article className="flex min-h-0 flex-1 flex-col">
      <header className="shrink-0 border-b border-line px-4 py-3">
        <h2 className="text-base font-semibold wrap-anywhere">
          <Text>{name}</Text> <span className="text-xs font-normal text-soft">{kind}</span>
        </h2>
        <p className="font-mono text-xs wrap-anywhere text-soft">
          <Text>{file}</Text> · sha256 {hash.slice(0, 12)}
        </p>
        <p>
          {isChanged
            ? "Earlier content of this file was trusted. It has changed since."
            : "This content is new in the project and not trusted yet."}
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
          <Table
            label="Fields"
            columns={inEffect === undefined ? columns : [...columns, now]}
            rows={fields}
            keyOf={({ field }) => field}
          />
        )}
        {prompt !== "" && (
          <section className="px-4">
            <h3 className="mb-1 font-semibold">Prompt</h3>
            {inEffect?.prompt != null && inEffect.prompt !== "" && inEffect.prompt !== prompt ? (
              <DiffText before={inEffect.prompt} after={prompt} />
            ) : (
              <LongText className="rounded-md border border-line p-3">{prompt}</LongText>
            )}
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
        <span className="text-xs text-soft">
          When its content changes, it must be trusted again.
        </span>
      </footer>
    </article>
  );
}

/** Every line of both texts: what is in effect now, and what would be. */
function DiffText({ before, after }: { readonly before: string; readonly after: string }) {
  const looks = { both: "text-soft", theirs: "bg-hover text-bad", mine: "bg-hover text-good" };
  const marks = { both: " ", theirs: "−", mine: "+" };
  const words = { both: "", theirs: "removed: ", mine: "added: " };
  const lines = diffLines(before, after).map((line, number) => ({ ...line, number }));
  return (
    <>
      <p className="mb-1 text-xs text-soft">
        <span className="font-mono text-bad">−</span> in effect now,{" "}
        <span className="font-mono text-good">+</span> in this file
      </p>
      <pre className="overflow-x-auto rounded-md border border-line p-3 font-mono text-xs leading-[18px] whitespace-pre-wrap">
        {lines.map(({ number, side, text }) => (
          <span key={number} className={`block wrap-anywhere ${looks[side]}`}>
            <span aria-hidden="true">{marks[side]} </span>
            <span className="sr-only">{words[side]}</span>
            <Text most={Number.MAX_SAFE_INTEGER}>{text}</Text>
          </span>
        ))}
      </pre>
    </>
  );
}

/** Nothing is left out: a person must see all that they trust. */
function wholeText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
