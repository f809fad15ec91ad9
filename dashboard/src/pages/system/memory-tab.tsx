import { useState } from "react";
import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Time } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { Link } from "../../router/link.tsx";

type Memory = Operations["listMemories"]["reply"]["items"][number];

/** What agents stored for later runs, and which agents may see it. */
export function MemoryTab() {
  const mayDecide = isOperator(useMe());
  const [text, setText] = useState("");
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["memories", text],
    load: (signal) =>
      client.listMemories({ limit: 200, ...(text.trim() !== "" && { text }) }, { signal }),
  });
  return (
    <>
      <div className="flex shrink-0 items-center gap-2 border-b border-line px-4 py-1.5">
        <input
          type="search"
          aria-label="Search memories"
          placeholder="Search"
          maxLength={1000}
          className="h-7 w-56 min-w-0 rounded-md border border-line bg-panel px-2 max-sm:h-9"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </div>
      {error !== null && <Problem error={error} onRetry={refetch} />}
      {value?.items.length === 0 &&
        (text === "" ? (
          <Empty title="No memories yet">
            Agents with the tool <code>memory_save</code> store facts for later runs. A sub-agent's
            memory is visible below its own agent until you promote it.
          </Empty>
        ) : (
          <Empty title="No memory matches">The search finds memories with any of the words.</Empty>
        ))}
      <ul aria-label="Memories" className="min-h-0 flex-1 overflow-auto">
        {value?.items.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} mayDecide={mayDecide} onDecided={refetch} />
        ))}
      </ul>
    </>
  );
}

interface MemoryRowProps {
  readonly memory: Memory;
  readonly mayDecide: boolean;
  readonly onDecided: () => void;
}

function MemoryRow({ memory, mayDecide, onDecided }: MemoryRowProps) {
  const [isAsking, setAsking] = useState(false);
  const promote = useAction(async () => {
    await client.promoteMemory({ memoryId: memory.id });
    onDecided();
  });
  const forget = useAction(async () => {
    await client.forgetMemory({ memoryId: memory.id });
    setAsking(false);
    onDecided();
  });
  return (
    <li className="flex flex-wrap items-start gap-3 border-b border-line px-4 py-2">
      <div className="min-w-0 flex-1 basis-64">
        <p className="wrap-anywhere">
          <Text most={2000}>{memory.text}</Text>
        </p>
        <p className="flex flex-wrap gap-x-3 text-xs text-soft">
          <span>
            {memory.scope === "shared"
              ? "visible to every agent here"
              : "visible below its own agent"}
          </span>
          {memory.tags.slice(0, 10).map((tag) => (
            <Text key={tag} most={40}>{`#${tag}`}</Text>
          ))}
          <Link to={`/delegations/${memory.delegationId}`} className="text-accent hover:underline">
            <Text most={64}>{memory.profile}</Text>
          </Link>
          <Time at={memory.createdAt} />
        </p>
      </div>
      {mayDecide && (
        <span className="flex gap-2">
          {memory.scope === "delegated" && memory.promoted === null && (
            <Button disabled={promote.isBusy} onClick={() => void promote.run()}>
              Promote
            </Button>
          )}
          <Button tone="danger" onClick={() => setAsking(true)}>
            Forget
          </Button>
        </span>
      )}
      {isAsking && (
        <Confirm
          title="Forget this memory?"
          action="Forget"
          isDangerous
          isBusy={forget.isBusy}
          onConfirm={() => void forget.run()}
          onClose={() => setAsking(false)}
        >
          No agent sees it any more. This cannot be undone. The log of its run keeps the text.
        </Confirm>
      )}
    </li>
  );
}
