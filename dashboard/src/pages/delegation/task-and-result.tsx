import type { ReactNode } from "react";
import type { Delegation } from "../../../../src/events/delegation.ts";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { Icon } from "../../shell/icon.tsx";
import type { DelegationDetail } from "./delegation-detail.ts";

interface TaskAndResultProps {
  readonly detail: DelegationDetail;
  readonly delegation: Delegation | undefined;
  readonly onArtifact: (hash: string) => void;
}

/** The result first, then the task that led to it. */
export function TaskAndResult({ detail, delegation, onArtifact }: TaskAndResultProps) {
  const { context, contract, result, task } = detail;
  const criteria = contract?.step.success_criteria ?? [];
  return (
    <>
      {result ? (
        <Part
          title={result.status === "completed" ? "Result" : "Failure"}
          tone={result.status === "completed" ? "good" : "bad"}
        >
          <Markdown>{result.result === "" ? "(nothing)" : result.result}</Markdown>
          <p className="mt-1.5 flex flex-wrap items-center gap-x-3 text-xs text-soft">
            <span className="flex items-center gap-1">
              <Icon path="M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4ZM5.8 8l1.6 1.6L10.4 6.6" />
              Sealed{result.evidence.output_hash !== null && " · sha256 "}
              {result.evidence.output_hash !== null && (
                <span className="font-mono" title={result.evidence.output_hash}>
                  {result.evidence.output_hash.slice(0, 12)}
                </span>
              )}
            </span>
            {result.truncated && <span className="text-warn">cut short</span>}
            {result.artifacts?.map(({ hash }) => (
              <button
                key={hash}
                type="button"
                className="text-accent hover:underline"
                onClick={() => onArtifact(hash)}
              >
                Open the whole result
              </button>
            ))}
          </p>
          {result.status !== "completed" && <HandedIn delegation={delegation} />}
        </Part>
      ) : (
        <Part title="Result">
          <Pending delegation={delegation} />
        </Part>
      )}
      <Part title="Task">
        <Markdown>{task ?? detail.title}</Markdown>
        {context !== null && (
          <details className="mt-1">
            <summary className="cursor-pointer text-soft hover:text-ink">Context</summary>
            <Markdown>{context}</Markdown>
          </details>
        )}
        {criteria.length > 0 && (
          <details className="mt-1">
            <summary className="cursor-pointer text-soft hover:text-ink">
              Success criteria ({criteria.length})
            </summary>
            <Markdown>{criteria.map((one) => `- ${one}`).join("\n")}</Markdown>
          </details>
        )}
      </Part>
    </>
  );
}

/** The last output of a failed one is not its result. */
function HandedIn({ delegation }: { readonly delegation: Delegation | undefined }) {
  const text = delegation?.status === "closed" ? delegation.output?.text : undefined;
  if (text === undefined || text === "") return null;
  return (
    <details className="mt-1">
      <summary className="cursor-pointer text-soft hover:text-ink">Its last output</summary>
      <Markdown>{text}</Markdown>
    </details>
  );
}

function Pending({ delegation }: { readonly delegation: Delegation | undefined }) {
  if (delegation && "output" in delegation && delegation.output) {
    return (
      <>
        <p className="mb-1 text-soft">Submitted, awaiting merge:</p>
        <Markdown>{delegation.output.text}</Markdown>
      </>
    );
  }
  return <p className="text-soft">No result yet: this agent is still open.</p>;
}

interface PartProps {
  readonly title: string;
  readonly tone?: "good" | "bad";
  readonly children: ReactNode;
}

const tones = { good: "border-l-good", bad: "border-l-bad" };

function Part({ title, tone, children }: PartProps) {
  return (
    <section
      aria-label={title}
      className={`border-b border-line px-4 py-3 ${tone ? `border-l-[3px] pl-[13px] ${tones[tone]}` : ""}`}
    >
      <h2 className="mb-1 text-xs font-semibold text-soft">{title}</h2>
      {children}
    </section>
  );
}
