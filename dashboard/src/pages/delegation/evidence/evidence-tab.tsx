import type { Seal } from "../../../../../src/events/seal.ts";
import { atMost } from "../../../../../src/events/spent.ts";
import { countOf, formatSpan } from "../../../../../src/surfaces/cli/amounts.ts";
import { Money } from "../../../components/amounts.tsx";
import { Empty } from "../../../components/empty.tsx";
import { Table } from "../../../components/table.tsx";
import { Text } from "../../../components/text.tsx";
import type { DelegationDetail } from "../delegation-detail.ts";
import { Fact, Facts, Pane } from "../pane.tsx";

/** What the runtime saw itself, whatever the agent said. */
export function EvidenceTab({ detail }: { readonly detail: DelegationDetail }) {
  const { evidence: seal, result } = detail;
  if (seal === null) {
    return (
      <Empty title="Not sealed yet">
        When it ends, the runtime computes from the log what it did: files, exit codes, tokens, and
        the models that answered. The agent has no say in it.
      </Empty>
    );
  }
  return (
    <Pane label="Evidence">
      <p className="px-4 pt-3 text-soft">
        Computed from the log by the runtime; the agent has no say in it.
      </p>
      <Facts title="Work">
        <dl>
          <Fact label="Work">
            {countOf(seal.turns, "turn")}, {countOf(seal.tool_calls, "tool call")},{" "}
            {countOf(seal.attempts, "attempt")}
            {result && ` in ${formatSpan(result.duration)}`}
          </Fact>
          <Fact label="Tokens">
            {atMost(seal.usage.prompt.toLocaleString("en"), seal.usage)} in,{" "}
            {atMost(seal.usage.completion.toLocaleString("en"), seal.usage)} out,{" "}
            <Money dollars={seal.usage.cost} estimated={seal.usage.estimated} />
          </Fact>
          <Models seal={seal} />
          {seal.output_hash !== null && (
            <Fact label="Output sha256">
              <span className="font-mono text-xs">{seal.output_hash}</span>
            </Fact>
          )}
          {seal.summary !== "" && (
            <Fact label="Summary">
              <Text most={1000}>{seal.summary}</Text>
            </Fact>
          )}
        </dl>
      </Facts>
      {seal.calls && Object.keys(seal.calls).length > 0 && (
        <Facts title="Completed calls">
          <ul className="flex flex-wrap gap-1.5">
            {Object.entries(seal.calls).map(([tool, count]) => (
              <li key={tool} className="rounded-sm bg-hover px-1.5 text-xs leading-5">
                <Text className="font-mono">{tool}</Text>{" "}
                <span className="text-soft">× {count}</span>
              </li>
            ))}
          </ul>
        </Facts>
      )}
      {seal.exits && seal.exits.length > 0 && (
        <Facts title="How its commands ended">
          <ol className="flex flex-wrap gap-1">
            {seal.exits.map((code, index) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: their order is what they are.
                key={index}
                className={`rounded-sm bg-hover px-1.5 font-mono text-xs leading-5 ${code === 0 ? "text-good" : "text-bad"}`}
              >
                {code === 0 ? "✓ 0" : `✗ ${code}`}
              </li>
            ))}
          </ol>
        </Facts>
      )}
      <Files seal={seal} />
    </Pane>
  );
}

function Models({ seal: { requested, served } }: { readonly seal: Seal }) {
  const isOther = requested !== undefined && served.some((model) => !requested.endsWith(model));
  return (
    <>
      {requested !== undefined && (
        <Fact label="Model asked for">
          <Text>{requested}</Text>
        </Fact>
      )}
      <Fact label="Answered by">
        <span className={isOther ? "text-warn" : ""}>
          {served.length === 0 ? "none" : <Text>{served.join(", ")}</Text>}
          {isOther && " (not the one that was asked for)"}
        </span>
      </Fact>
    </>
  );
}

function Files({ seal: { files = [], files_total: total } }: { readonly seal: Seal }) {
  if (files.length === 0) return null;
  const short = (hash: string | null): string => (hash === null ? "–" : hash.slice(0, 12));
  return (
    <>
      <Facts title={`Files (${total ?? files.length})`}>
        {total !== undefined && (
          <p className="text-soft">
            The first {files.length} of {total.toLocaleString("en")}.
          </p>
        )}
      </Facts>
      <Table
        label="Files"
        rows={files}
        keyOf={({ path }) => path}
        columns={[
          {
            title: "What",
            cell: ({ after, before }) =>
              before === null ? "Created" : after === null ? "Removed" : "Changed",
          },
          { title: "Path", cell: ({ path }) => <Text className="font-mono text-xs">{path}</Text> },
          {
            title: "Before",
            isSecondary: true,
            cell: ({ before }) => (
              <span className="font-mono text-xs text-soft">{short(before)}</span>
            ),
          },
          {
            title: "After",
            isSecondary: true,
            cell: ({ after }) => (
              <span className="font-mono text-xs text-soft">{short(after)}</span>
            ),
          },
        ]}
      />
    </>
  );
}
