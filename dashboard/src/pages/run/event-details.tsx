import type { FollowedEvent } from "../../../../src/surfaces/client/mandate-client.ts";
import { Id } from "../../components/id.tsx";
import { LongText } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";

/** Everything that an event holds: long texts as texts, the rest as it is stored. */
export function EventDetails({ event }: { readonly event: FollowedEvent }) {
  const entries = Object.entries(event.payload as Readonly<Record<string, unknown>>);
  const { hash, seq, sub_agent_id: id, type } = event;
  return (
    <div className="border-b border-line bg-page px-4 py-2 sm:pl-10">
      <p className="flex flex-wrap items-center gap-x-3 font-mono text-xs text-soft">
        <span>{type}</span>
        <span>event {seq}</span>
        {id !== undefined && (
          <Link to={`/delegations/${id}`} className="text-accent hover:underline">
            delegation {id}
          </Link>
        )}
        <span title={hash}>sha256 {hash.slice(0, 12)}</span>
        {id !== undefined && <Id id={id} />}
      </p>
      <dl className="mt-1 grid grid-cols-[minmax(0,8rem)_minmax(0,1fr)] gap-x-3 gap-y-1 max-sm:grid-cols-1">
        {entries.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="truncate text-soft">{name.replaceAll("_", " ")}</dt>
            <dd className="min-w-0">
              <LongText>{shown(value)}</LongText>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function shown(value: unknown): string {
  if (typeof value === "string") return value === "" ? "(nothing)" : value;
  return JSON.stringify(value, null, 2) ?? "";
}
