import { harmlessLine } from "../../../../../src/sessions/harmless-text.ts";
import { Empty } from "../../../components/empty.tsx";
import { formatBytes } from "../../../components/format-bytes.ts";
import { Text } from "../../../components/text.tsx";
import type { DelegationDetail } from "../delegation-detail.ts";
import { ArtifactView } from "./artifact-view.tsx";

interface ArtifactsTabProps {
  readonly detail: DelegationDetail;
  /** Empty: the first one. */
  readonly chosen: string;
  readonly onChoose: (hash: string) => void;
}

const names = { result: "Its result", call: "Output of", diff: "What it changed" };

/** What was too large to be poured into a conversation. */
export function ArtifactsTab({ detail, chosen, onChoose }: ArtifactsTabProps) {
  const artifacts = [...new Map(detail.artifacts.map((one) => [one.hash, one])).values()];
  const current = artifacts.find(({ hash }) => hash === chosen) ?? artifacts[0];
  if (current === undefined) {
    return (
      <Empty title="No artifacts">
        An output that is too large for a conversation is kept here; the agent gets both ends of it,
        and can read the rest in parts, as you can.
      </Empty>
    );
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <label className="flex min-w-0 items-center gap-2">
          <span className="text-soft">Artifact</span>
          <select
            className="h-7 min-w-0 rounded-md border border-edge bg-raised px-1.5 max-sm:h-9"
            value={current.hash}
            onChange={({ target }) => onChoose(target.value)}
          >
            {artifacts.map(({ bytes, hash, of, tool }) => (
              <option key={hash} value={hash}>
                {optionOf(of, tool, bytes, hash)}
              </option>
            ))}
          </select>
        </label>
        <Text className="font-mono text-xs text-soft">{`sha256 ${current.hash.slice(0, 16)}`}</Text>
      </div>
      <ArtifactView key={current.hash} delegationId={detail.delegationId} hash={current.hash} />
    </div>
  );
}

type Kind = DelegationDetail["artifacts"][number]["of"];

function optionOf(of: Kind, tool: string | null, bytes: number, hash: string): string {
  const what = of === "call" ? `${names.call} ${harmlessLine(tool ?? "a call", 60)}` : names[of];
  return `${what} (${formatBytes(bytes)}, ${hash.slice(0, 6)})`;
}
