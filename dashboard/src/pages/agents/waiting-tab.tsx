import type { UseQueryResult } from "@tanstack/react-query";
import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { CommandLine } from "../../components/command-line.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import { useQueryWord } from "../../router/router.ts";
import { trustCommand } from "./field-text.ts";
import type { ProfileList } from "./profiles-tab.tsx";
import { TrustedList } from "./trusted-list.tsx";
import { WaitingView } from "./waiting-view.tsx";

type Waiting = ProfileList["waiting"][number];

const columns: readonly Column<Waiting>[] = [
  {
    title: "What",
    cell: ({ kind, name }) =>
      kind === "profile" ? (
        <Link
          to={`/agents?tab=profiles&profile=${encodeURIComponent(name)}`}
          className="text-accent hover:underline"
        >
          <Text>{name}</Text>
        </Link>
      ) : (
        <>
          <Text>{name}</Text> <span className="text-xs text-soft">skill</span>
        </>
      ),
  },
  { title: "File", cell: ({ file }) => <Text className="font-mono text-xs">{file}</Text> },
  {
    title: "Why",
    cell: ({ isChanged }) => (isChanged ? "Changed since it was trusted" : "New in the project"),
  },
  {
    title: "SHA-256",
    isSecondary: true,
    cell: ({ hash }) => <span className="font-mono text-xs text-soft">{hash.slice(0, 12)}</span>,
  },
];

interface WaitingTabProps {
  readonly list: UseQueryResult<ProfileList>;
  readonly mayEdit: boolean;
}

/** What came with a project has an effect once a person has trusted it. */
export function WaitingTab({ list: { data: value, error, refetch }, mayEdit }: WaitingTabProps) {
  const [hash, setHash] = useQueryWord("hash", "");
  if (value === undefined) return error === null ? null : <Problem error={error} />;
  if (hash !== "" && mayEdit) {
    const done = (): void => {
      setHash("");
      void refetch();
    };
    return <WaitingView key={hash} hash={hash} onDone={done} />;
  }
  const looking: Column<Waiting> = {
    title: "Trust",
    isShort: mayEdit,
    cell: ({ hash: of, name }) =>
      mayEdit ? (
        <button
          type="button"
          className="text-accent hover:underline"
          aria-label={`Review ${harmlessLine(name, 64)}`}
          onClick={() => setHash(of)}
        >
          Review…
        </button>
      ) : (
        <code className="font-mono text-xs">{trustCommand(name)}</code>
      ),
  };
  return (
    <div className="overflow-auto">
      {value.waiting.length === 0 ? (
        <Empty title="Nothing waits to be trusted">
          <p>
            Profiles and skills of a repository have no effect until you trust their content. When
            the content changes, they wait again. In a terminal:
          </p>
          <p className="mt-2">
            <CommandLine>mandate profiles trust</CommandLine>
          </p>
        </Empty>
      ) : (
        <>
          <p className="px-4 py-3 text-soft">
            These came with a project and have no effect yet. Review each one before you trust it:
            its text becomes instructions for an agent.
          </p>
          <Table
            label="Waiting to be trusted"
            columns={[...columns, looking]}
            rows={value.waiting}
            keyOf={({ file, hash: of, name }) => `${name} ${file} ${of}`}
          />
        </>
      )}
      <TrustedList mayEdit={mayEdit} />
    </div>
  );
}
