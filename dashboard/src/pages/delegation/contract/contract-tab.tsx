import type { ReceiptLine } from "../../../../../src/contracts/receipt.ts";
import { Table } from "../../../components/table.tsx";
import { Text } from "../../../components/text.tsx";
import { narrow, useMedia } from "../../../components/use-media.ts";
import type { DelegationDetail } from "../delegation-detail.ts";
import { Fact, Facts, Pane } from "../pane.tsx";
import { describeAmount, nameOfField } from "./describe-amount.ts";
import { type ContractRow, describeContract } from "./describe-contract.ts";

/** What was asked for, what was granted, and what the whole contract says. */
export function ContractTab({ detail }: { readonly detail: DelegationDetail }) {
  const { contract, contractHash, problem, receipt } = detail;
  return (
    <Pane label="Contract and receipt">
      <Facts title="Receipt">
        {receipt.length === 0 ? (
          <p className="text-soft">
            Nothing beyond its profile was asked for, and nothing was taken away.
          </p>
        ) : (
          <Receipt lines={receipt} />
        )}
      </Facts>
      {problem !== null && (
        <p
          role="alert"
          className="mx-4 mt-3 rounded-md border border-line border-l-[3px] border-l-bad px-3 py-2 wrap-anywhere"
        >
          <Text most={1000}>{problem}</Text>
        </p>
      )}
      {contract &&
        describeContract(contract).map(({ rows, title }) => (
          <Facts key={title} title={title}>
            <dl>
              {rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows of one contract never move.
                <Fact key={`${index} ${row.label}`} label={<Text>{row.label}</Text>}>
                  <Said row={row} />
                </Fact>
              ))}
            </dl>
          </Facts>
        ))}
      <p className="px-4 pt-2 pb-4 text-xs text-soft" title={contractHash}>
        Contract sha256 <span className="font-mono">{contractHash.slice(0, 16)}</span>, checked
        again at every transition.
      </p>
    </Pane>
  );
}

function Said({ row: { names, text } }: { readonly row: ContractRow }) {
  if (names === undefined) return <Text most={2000}>{text}</Text>;
  return (
    <ul className="flex flex-wrap gap-1">
      {names.map((name) => (
        <li
          key={name}
          className="max-w-full rounded-sm bg-hover px-1.5 font-mono text-xs leading-5"
        >
          <Text>{name}</Text>
        </li>
      ))}
    </ul>
  );
}

function Receipt({ lines }: { readonly lines: readonly ReceiptLine[] }) {
  if (useMedia(narrow)) {
    return (
      <ul aria-label="Receipt">
        {lines.map((line) => (
          <li key={line.field} className="border-t border-line py-1.5 first:border-t-0">
            <Field line={line} />
            <p className="wrap-anywhere">
              <Amount line={line} value={line.requested} />
              <span className="text-soft"> requested, </span>
              <Amount line={line} value={line.granted} />
              <span className="text-soft"> granted</span>
            </p>
            <Dropped line={line} />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <div className="-mx-4">
      <Table
        label="Receipt"
        rows={lines}
        keyOf={({ field }) => field}
        columns={[
          { title: "Field", cell: (line) => <Field line={line} /> },
          { title: "Requested", cell: (line) => <Amount line={line} value={line.requested} /> },
          { title: "Granted", cell: (line) => <Amount line={line} value={line.granted} /> },
          { title: "Dropped, and why", cell: (line) => <Dropped line={line} /> },
        ]}
      />
    </div>
  );
}

function isLess({ dropped = [], reason }: ReceiptLine): boolean {
  return reason !== undefined || dropped.length > 0;
}

function Field({ line }: { readonly line: ReceiptLine }) {
  const [tone, path] = isLess(line)
    ? ["text-warn", "M8 3v7M5 7.5 8 10.5l3-3M4 13.5h8"]
    : ["text-good", "m3 8.5 3.5 3.5L13 4.5"];
  return (
    <span className="flex items-center gap-1.5 font-medium whitespace-nowrap">
      <svg viewBox="0 0 16 16" className={`size-3.5 shrink-0 ${tone}`} aria-hidden="true">
        <path d={path} fill="none" stroke="currentColor" strokeWidth="1.75" />
      </svg>
      <Text most={40}>{nameOfField(line.field)}</Text>
    </span>
  );
}

function Dropped({ line }: { readonly line: ReceiptLine }) {
  const { dropped = [], reason } = line;
  if (!isLess(line)) return <span className="text-soft max-sm:hidden">–</span>;
  return (
    <>
      {dropped.map((name) => (
        <del key={name} className="mr-1 rounded-sm bg-hover px-1 font-mono text-xs text-bad">
          <Text>{name}</Text>
        </del>
      ))}
      {reason !== undefined && (
        <Text className="block text-soft" most={600}>
          {reason}
        </Text>
      )}
    </>
  );
}

function Amount({ line, value }: { readonly line: ReceiptLine; readonly value: unknown }) {
  return <Text most={600}>{describeAmount(line.field, value)}</Text>;
}
