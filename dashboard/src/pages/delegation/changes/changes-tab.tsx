import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Empty } from "../../../components/empty.tsx";
import { Problem } from "../../../components/problem.tsx";
import { Text } from "../../../components/text.tsx";
import type { DelegationChanges, DelegationDiff } from "../delegation-detail.ts";
import { Pane } from "../pane.tsx";
import { FileDiff } from "./file-diff.tsx";
import { type ChangedFile, changedFiles } from "./match-sections.ts";

/** Files that are longer are shown when they are asked for. */
const usualLines = 400;
const mostLinesAtFirst = 3000;

/** What a delegation changed, by file and line. */
export function ChangesTab({ changes }: { readonly changes: UseQueryResult<DelegationChanges> }) {
  const { data, error, refetch } = changes;
  const value = data?.diff;
  const files = useMemo(() => (value ? changedFiles(value) : []), [value]);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  if (error !== null && data === undefined) return <Problem error={error} onRetry={refetch} />;
  if (data !== undefined && data.why !== "") {
    return (
      <Empty title="No changes are kept">
        <Text most={600}>{data.why}</Text>
      </Empty>
    );
  }
  if (value === undefined) return <p className="px-4 py-6 text-soft">Reading the changes…</p>;
  if (value === null) {
    return (
      <Empty title="No working copy">
        This agent worked in its caller's folder, or could not write. The Evidence tab lists the
        files that it changed.
      </Empty>
    );
  }
  if (files.length === 0) return <Empty title="No changes">{problems(value)}</Empty>;
  const open = openAtFirst(files);
  const isOpen = (path: string): boolean => open.has(path) !== toggled.has(path);
  const toggle = (path: string): void => {
    const next = new Set(toggled);
    if (!next.delete(path)) next.add(path);
    setToggled(next);
  };
  return (
    <Pane label="Changes">
      <div className="border-b border-line px-4 py-2">
        <p>
          {files.length === 1 ? "1 file" : `${files.length} files`},{" "}
          <span className="text-good">+{value.added}</span>{" "}
          <span className="text-bad">−{value.removed}</span>
          <span className="ml-2 text-soft">
            {value.source === "copy" ? "in its working copy" : "as merged"}
          </span>
        </p>
        {problems(value)}
        {files.length > 1 && (
          <FileList files={files} onChoose={(path) => !isOpen(path) && toggle(path)} />
        )}
      </div>
      {files.map((file, index) => (
        <FileDiff
          key={file.path}
          id={idOf(index)}
          file={file}
          isCut={value.truncated}
          isOpen={isOpen(file.path)}
          onToggle={() => toggle(file.path)}
        />
      ))}
    </Pane>
  );
}

function problems({ problems: told, truncated }: DelegationDiff) {
  if (told.length === 0 && !truncated) return null;
  return (
    <ul className="mt-1 text-warn wrap-anywhere">
      {truncated && <li>The diff is too large: only its beginning is shown.</li>}
      {told.map((problem) => (
        <li key={problem}>
          <Text most={600}>{problem}</Text>
        </li>
      ))}
    </ul>
  );
}

interface FileListProps {
  readonly files: readonly ChangedFile[];
  readonly onChoose: (path: string) => void;
}

const mostListed = 200;

function FileList({ files, onChoose }: FileListProps) {
  const choose = (path: string, index: number): void => {
    onChoose(path);
    // After it was opened: before that it has no height.
    requestAnimationFrame(() =>
      document.getElementById(idOf(index))?.scrollIntoView({ block: "start" }),
    );
  };
  return (
    <ul className="mt-1 max-h-40 overflow-y-auto" aria-label="Changed files">
      {files.slice(0, mostListed).map(({ counts, path }, index) => (
        <li key={path} className="flex items-center gap-3">
          <button
            type="button"
            className="min-w-0 truncate font-mono text-xs text-accent hover:underline"
            onClick={() => choose(path, index)}
          >
            <Text>{path}</Text>
          </button>
          {counts && (
            <span className="shrink-0 text-xs">
              <span className="text-good">+{counts.added}</span>{" "}
              <span className="text-bad">−{counts.removed}</span>
            </span>
          )}
        </li>
      ))}
      {files.length > mostListed && (
        <li className="text-soft">and {files.length - mostListed} more below</li>
      )}
    </ul>
  );
}

function idOf(index: number): string {
  return `changed-file-${index}`;
}

function openAtFirst(files: readonly ChangedFile[]): ReadonlySet<string> {
  const open = new Set<string>();
  let shown = 0;
  for (const { lines, path } of files) {
    if (lines.length > usualLines || shown + lines.length > mostLinesAtFirst) continue;
    shown += lines.length;
    open.add(path);
  }
  return open;
}
