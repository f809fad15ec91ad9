import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import type { Resource } from "../../data/use-resource.ts";
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
    title: "As it is now",
    isSecondary: true,
    cell: ({ hash }) => <span className="font-mono text-xs text-soft">{hash.slice(0, 12)}</span>,
  },
];

interface WaitingTabProps {
  readonly list: Resource<ProfileList>;
  readonly mayEdit: boolean;
}

/** What came with a project has an effect once a person has trusted it. */
export function WaitingTab({ list: { error, reload, value }, mayEdit }: WaitingTabProps) {
  const [hash, setHash] = useQueryWord("hash", "");
  if (value === undefined) return error === undefined ? null : <Problem error={error} />;
  if (hash !== "" && mayEdit) {
    const done = (): void => {
      setHash("");
      reload();
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
          aria-label={`Look at ${harmlessLine(name, 64)}`}
          onClick={() => setHash(of)}
        >
          Look at it…
        </button>
      ) : (
        <code className="font-mono text-xs">{trustCommand(name)}</code>
      ),
  };
  return (
    <div className="overflow-auto">
      {value.waiting.length === 0 ? (
        <Empty title="Nothing waits to be trusted">
          Profiles and skills that come with a repository do not count until you trust them as they
          are; one that changes waits again. In a terminal: <code>mandate profiles trust</code>
        </Empty>
      ) : (
        <>
          <p className="px-4 py-3 text-soft">
            These came with a project and do not count yet. Look at each of them first: what it says
            is what an agent would be told to do.
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
