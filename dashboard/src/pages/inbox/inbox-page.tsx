import { type InboxKind, inboxKinds } from "../../../../src/events/inbox-item.ts";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { switchDesktopNotices, useDesktopNotices } from "../../data/desktop-notices.ts";
import { useOpenAsks } from "../../data/open-asks.ts";
import { useAction } from "../../data/use-action.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { navigate, useQueryWord } from "../../router/router.ts";
import { useKeys } from "../../shell/keys.ts";
import { AskCard } from "./ask-card.tsx";
import { addressOf, noticesIn } from "./inbox-item.ts";
import { kindWords, NoticeRow } from "./notice-row.tsx";
import { useInbox } from "./use-inbox.ts";

/** Questions are cards while they are open; their answers are notices. */
const noticeKinds = inboxKinds.filter((kind) => kind !== "ask" && kind !== "approval");

export function InboxPage() {
  const me = useMe();
  const [word, setWord] = useQueryWord("kind", "all");
  const kind = noticeKinds.find((one) => one === word) ?? "all";
  const open = useOpenAsks();
  const inbox = useInbox(kind);
  const asks = open.data?.items.toReversed() ?? [];
  const notices = noticesIn(inbox.items);
  const newest = Math.max(inbox.items[0]?.id ?? 0, asks.at(-1)?.id ?? 0);
  const unseen = notices.filter(({ id }) => id > inbox.seen).length;
  const isMore = inbox.hasMore && unseen === notices.length;
  const mark = useAction(() => inbox.markRead(newest));
  useKeys([{ keys: "m", label: "Mark all as read", run: () => void mark.run() }]);
  return (
    <>
      <h1 className="sr-only">Inbox</h1>
      {asks.length > 0 && (
        <section
          aria-labelledby="open-questions"
          className="flex shrink-0 flex-col gap-2 border-b border-line px-4 py-3 sm:max-h-[70%] sm:overflow-auto"
        >
          <h2 id="open-questions" className="font-semibold">
            Waiting for you
            <span className="ml-2 font-normal text-soft">
              {asks.length}
              {open.data?.nextCursor ? "+" : ""}
            </span>
          </h2>
          {asks.map((item, index) => (
            <AskCard key={item.id} item={item} mayAnswer={isOperator(me)} hasKeys={index === 0} />
          ))}
        </section>
      )}
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-1.5">
        <KindFilter kind={kind} onChoose={setWord} />
        <span className="text-xs text-soft" aria-live="polite">
          {inbox.isLoaded && (unseen === 0 ? "All read" : `${unseen}${isMore ? "+" : ""} new`)}
        </span>
        <span className="ml-auto flex items-center gap-2">
          <NoticesButton />
          <Button disabled={unseen === 0 || mark.isBusy} onClick={() => void mark.run()}>
            Mark all as read
          </Button>
        </span>
      </div>
      {open.error !== null && <Problem error={open.error} onRetry={open.refetch} />}
      {inbox.error !== null && <Problem error={inbox.error} />}
      {inbox.isLoaded && notices.length === 0 ? (
        <NoNotices kind={kind} />
      ) : (
        <div className="flex min-h-64 flex-1 flex-col">
          <VirtualList
            label="Notices"
            isMain
            count={notices.length}
            rowHeight={50}
            keyOf={(index) => String(notices[index]?.id)}
            rowProps={() => ({ className: "cursor-pointer" })}
            onEnd={inbox.loadMore}
            onOpen={(index) => {
              const item = notices[index];
              if (item) navigate(addressOf(item));
            }}
            renderRow={(index) => {
              const item = notices[index];
              return item && <NoticeRow item={item} isUnseen={item.id > inbox.seen} />;
            }}
          />
        </div>
      )}
    </>
  );
}

interface KindFilterProps {
  readonly kind: InboxKind | "all";
  readonly onChoose: (kind: string) => void;
}

function KindFilter({ kind, onChoose }: KindFilterProps) {
  return (
    <select
      aria-label="Kind of notice"
      className="h-7 rounded-md border border-line bg-panel px-1.5 max-sm:h-9"
      value={kind}
      onChange={({ target }) => onChoose(target.value)}
    >
      <option value="all">All kinds</option>
      {noticeKinds.map((one) => (
        <option key={one} value={one}>
          {kindWords[one]}
        </option>
      ))}
    </select>
  );
}

function NoticesButton() {
  const state = useDesktopNotices();
  const change = useAction(switchDesktopNotices);
  if (state === "none") return null;
  if (state === "refused") {
    return (
      <span className="text-xs text-soft max-sm:hidden">
        Notifications are blocked. Enable them in the site settings of this browser.
      </span>
    );
  }
  return (
    <Button
      aria-pressed={state === "on"}
      disabled={change.isBusy}
      title="A desktop notification for each new question"
      onClick={() => void change.run()}
    >
      {state === "on" ? "Notifications on" : "Notify me"}
    </Button>
  );
}

function NoNotices({ kind }: { readonly kind: InboxKind | "all" }) {
  if (kind !== "all") return <Empty title={`No ${kindWords[kind].toLowerCase()}`} />;
  return (
    <Empty title="Nothing to read">
      <p>
        Questions and approvals of agents appear here, and the outcome of every run. An agent can
        ask when its profile has the tool <code>ask_user</code>. You can also answer in a terminal:
      </p>
      <p className="mt-2">
        <CommandLine>mandate inbox</CommandLine>
      </p>
    </Empty>
  );
}
