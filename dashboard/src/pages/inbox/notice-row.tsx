import { Time } from "../../components/amounts.tsx";
import { Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import { Icon } from "../../shell/icon.tsx";
import { addressOf, type ShownItem } from "./inbox-item.ts";

const icons: Readonly<Record<ShownItem["kind"], string>> = {
  ask: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM6.5 6.5a1.5 1.5 0 1 1 2 1.4c-.4.2-.5.5-.5 1M8 11v.1",
  approval: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4ZM5.8 8l1.6 1.6 3-3.2",
  answer: "M2.5 3.5h11v7h-6L4.5 13v-2.5h-2Z",
  finished: "M3 8.5l3.2 3.2L13 5",
  review:
    "M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4ZM8 6.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2Z",
  interjection: "M8 2.5v7M8 12.5v.1",
  plan: "M3 4h2M7 4h6M3 8h2M7 8h6M3 12h2M7 12h6",
  run: "M5 3l8 5-8 5Z",
};
const cross = "m4 4 8 8M12 4l-8 8";

export const kindWords: Readonly<Record<ShownItem["kind"], string>> = {
  ask: "Questions",
  approval: "Approvals",
  answer: "Answers",
  finished: "Finished",
  review: "Reviews",
  interjection: "Remarks",
  plan: "Plans",
  run: "Runs",
};

const tones = { info: "text-soft", warn: "text-warn", critical: "text-bad" };

interface NoticeRowProps {
  readonly item: ShownItem;
  readonly isUnseen: boolean;
}

export function NoticeRow({ item, isUnseen }: NoticeRowProps) {
  const isEnd = item.kind === "finished" || item.kind === "run";
  const isFailure = isEnd && item.severity !== "info";
  return (
    <div role="gridcell" className="flex h-full items-center gap-3 px-4">
      <span className="w-2 shrink-0">
        {isUnseen && (
          <svg viewBox="0 0 8 8" className="size-2 text-accent" role="img" aria-label="New">
            <circle cx="4" cy="4" r="4" fill="currentColor" />
          </svg>
        )}
      </span>
      <span
        className={tones[item.severity]}
        title={isFailure ? "Failed or cancelled" : kindWords[item.kind]}
      >
        <Icon path={isFailure ? cross : icons[item.kind]} />
      </span>
      <span className="flex min-w-0 flex-1 flex-col">
        <Link
          to={addressOf(item)}
          tabIndex={-1}
          className={`truncate hover:underline ${isUnseen ? "font-semibold" : ""}`}
        >
          <Text>{item.title}</Text>
        </Link>
        <span className="truncate text-xs text-soft">
          {item.startedBy && (
            <>
              <Text most={64}>{item.startedBy}</Text> ·{" "}
            </>
          )}
          {item.text === "" ? item.runId : <Text isMarkdown>{item.text}</Text>}
        </span>
      </span>
      <span className="shrink-0 text-xs text-soft">
        <Time at={item.at} />
      </span>
    </div>
  );
}
