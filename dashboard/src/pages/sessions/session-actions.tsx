import { type FormEvent, useState } from "react";
import { Button } from "../../components/button.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { exportName } from "./session-status.ts";

interface SessionTitleProps {
  readonly sessionId: string;
  readonly title: string;
  readonly mayChange: boolean;
  readonly onRenamed: () => void;
}

export function SessionTitle({ sessionId, title, mayChange, onRenamed }: SessionTitleProps) {
  const [draft, setDraft] = useState<string>();
  const rename = useAction(async (next: string) => {
    await client.renameSession({ sessionId, title: next });
    setDraft(undefined);
    onRenamed();
  });
  if (draft === undefined) {
    return (
      <>
        <h2 className="min-w-0 truncate text-sm font-semibold">
          <Text>{title}</Text>
        </h2>
        {mayChange && <Button onClick={() => setDraft(title)}>Rename</Button>}
      </>
    );
  }
  const save = (event: FormEvent): void => {
    event.preventDefault();
    void rename.run(draft);
  };
  return (
    <form className="flex min-w-0 flex-1 gap-2 max-sm:basis-full" onSubmit={save}>
      <h2 className="sr-only">
        <Text>{title}</Text>
      </h2>
      <input
        aria-label="Title; an empty one takes the given one away"
        // biome-ignore lint/a11y/noAutofocus: after Rename, the person wants to type.
        autoFocus
        maxLength={120}
        className="h-7 min-w-0 flex-1 rounded-md border border-edge bg-panel px-2 max-sm:h-9"
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={({ key }) => {
          if (key === "Escape") setDraft(undefined);
        }}
      />
      <Button type="submit" tone="main" disabled={rename.isBusy}>
        Save
      </Button>
    </form>
  );
}

const formats = [
  { format: "markdown", label: "Markdown", type: "text/markdown" },
  { format: "jsonl", label: "JSONL", type: "application/jsonl" },
] as const;

/** The whole of it, as a file. */
export function ExportButtons({
  sessionId,
  title,
}: Omit<SessionTitleProps, "mayChange" | "onRenamed">) {
  const download = useAction(async ({ format, type }: (typeof formats)[number]) => {
    const { text } = await client.exportSession({ sessionId, format });
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    const link = document.createElement("a");
    link.href = address;
    link.download = exportName(title, sessionId, format);
    link.click();
    URL.revokeObjectURL(address);
  });
  return formats.map((one) => (
    <Button key={one.format} disabled={download.isBusy} onClick={() => void download.run(one)}>
      Export as {one.label}
    </Button>
  ));
}
