import type { ReactNode } from "react";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** Left out where there is little room. */
  readonly isSecondary?: boolean;
  /** A word or two of our own, which are not broken. */
  readonly isShort?: boolean;
}

interface TableProps<Row> {
  /** What it lists, for those who cannot see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/** For a few hundred rows; what can grow beyond is a VirtualList. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  const look = ({ isNumber, isSecondary, isShort }: Column<Row>): string =>
    `px-3 py-1.5 first:pl-4 last:pr-4 max-sm:px-2 ${isNumber ? "text-right" : "text-left"} ${isSecondary ? "max-md:hidden" : ""} ${isShort ? "whitespace-nowrap" : ""}`;
  return (
    <table aria-label={label} className="w-full border-collapse">
      <thead>
        <tr className="border-b border-line text-xs text-soft">
          {columns.map((column) => (
            <th key={column.title} scope="col" className={`font-medium ${look(column)}`}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} className="border-b border-line hover:bg-hover">
            {columns.map((column) => (
              <td key={column.title} className={`max-w-md align-top wrap-anywhere ${look(column)}`}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
