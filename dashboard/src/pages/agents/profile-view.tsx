import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { client } from "../../data/client.ts";
import { isRecordChange } from "../../data/is-record-change.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { Link } from "../../router/link.tsx";
import { fieldText, trustCommand } from "./field-text.ts";

type Profile = Operations["getProfile"]["reply"];
type Field = Profile["fields"][number];

const columns: readonly Column<Field>[] = [
  {
    title: "Field",
    isShort: true,
    cell: ({ field }) => <Text className="block min-w-24 font-mono text-xs">{field}</Text>,
  },
  { title: "Value", cell: ({ value }) => <Text most={2000}>{fieldText(value)}</Text> },
  {
    title: "Comes from",
    cell: ({ origin }) => <Text className="font-mono text-xs text-soft">{origin}</Text>,
  },
];

/** A profile as it is in effect, and where each of its fields came from. */
export function ProfileView({ name }: { readonly name: string }) {
  const mayEdit = isOperator(useMe());
  const {
    data: value,
    error,
    refetch,
  } = useLiveQuery({
    key: ["profile", name],
    load: (signal) => client.getProfile({ profile: name }, { signal }),
    changedBy: isRecordChange,
  });
  if (error !== null) return <Problem error={error} onRetry={refetch} />;
  if (value === undefined) return null;
  return (
    <article className="flex flex-col gap-4 pb-6">
      <header className="flex flex-wrap items-baseline gap-x-3 px-4 pt-3">
        <Link to="/agents?tab=profiles" className="text-accent sm:hidden">
          All profiles
        </Link>
        <h2 className="text-base font-semibold wrap-anywhere">
          <Text>{value.name}</Text>
        </h2>
        <span className={value.usable ? "text-good" : "text-bad"}>
          {value.usable ? "usable" : "not usable"}
        </span>
      </header>
      {value.problem !== null && (
        <p role="alert" className="px-4 wrap-anywhere text-bad">
          <Text most={2000}>{value.problem}</Text>
        </p>
      )}
      {value.waiting.map((layer) => (
        <section
          key={layer.hash}
          aria-label="Waits to be trusted"
          className="mx-4 rounded-md border border-line border-l-[3px] border-l-warn px-4 py-3"
        >
          <h3 className="font-semibold text-warn">Not trusted yet, so it has no effect</h3>
          <p className="wrap-anywhere">
            <Text className="font-mono text-xs">{layer.origin}</Text> came with a project.{" "}
            {mayEdit ? (
              <Link
                to={`/agents?tab=waiting&hash=${layer.hash}`}
                className="text-accent hover:underline"
              >
                Review and trust it
              </Link>
            ) : (
              <>
                An operator reviews it and trusts it in a terminal:{" "}
                <code className="font-mono text-xs">{trustCommand(value.name)}</code>
              </>
            )}
          </p>
          <Table
            label="What waits to be trusted"
            columns={columns}
            rows={layer.fields}
            keyOf={({ field }) => field}
          />
          {layer.prompt !== null && layer.prompt !== "" && <LongText>{layer.prompt}</LongText>}
        </section>
      ))}
      <Table
        label="Fields, and where they come from"
        columns={columns}
        rows={value.fields}
        keyOf={({ field }) => field}
      />
      <section className="px-4">
        <h3 className="mb-1 font-semibold">Prompt</h3>
        {value.prompt === null ? (
          <p className="text-soft">Only operators can see the prompt.</p>
        ) : value.prompt === "" ? (
          <p className="text-soft">This profile has no prompt.</p>
        ) : (
          <LongText className="rounded-md border border-line p-3">{value.prompt}</LongText>
        )}
      </section>
      {value.layers.length > 1 && (
        <section className="px-4">
          <h3 className="mb-1 font-semibold">Layers, merged in this order</h3>
          <ol className="list-decimal pl-5">
            {value.layers.map((layer) => (
              <li key={layer} className="wrap-anywhere">
                <Text className="font-mono text-xs">{layer}</Text>
              </li>
            ))}
          </ol>
        </section>
      )}
    </article>
  );
}
