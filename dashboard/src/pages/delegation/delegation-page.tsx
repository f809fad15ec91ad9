import { Problem } from "../../components/problem.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { isOperator, useMe } from "../../data/use-me.ts";
import { navigate, usePlace, useQueryWord } from "../../router/router.ts";
import { DelegationActions } from "./actions/delegation-actions.tsx";
import { offeredActions } from "./actions/offered-actions.ts";
import { ArtifactsTab } from "./artifacts/artifacts-tab.tsx";
import { CallsTab } from "./calls/calls-tab.tsx";
import { ChangesTab } from "./changes/changes-tab.tsx";
import { ContractTab } from "./contract/contract-tab.tsx";
import { DelegationAsk } from "./delegation-ask.tsx";
import { useDelegationDetail, useDelegationDiff } from "./delegation-detail.ts";
import { useDelegationFeed } from "./delegation-feed.ts";
import { DelegationHead } from "./delegation-head.tsx";
import { EventsTab } from "./events-tab.tsx";
import { EvidenceTab } from "./evidence/evidence-tab.tsx";
import { RequestsTab } from "./requests/requests-tab.tsx";
import { TaskAndResult } from "./task-and-result.tsx";
import { TranscriptTab } from "./transcript/transcript-tab.tsx";

/** One delegation: what it was for and what came of it first, then everything that it rests on. */
export function DelegationPage({ delegationId }: { readonly delegationId: string }) {
  const feed = useDelegationFeed(delegationId);
  const detail = useDelegationDetail(delegationId);
  const changes = useDelegationDiff(delegationId, detail.data);
  const mayAct = isOperator(useMe());
  const [tab, setTab] = useQueryWord("tab", "");
  const { query } = usePlace();
  const { data: value } = detail;
  if (value === undefined) {
    if (detail.error === null) {
      return <h1 className="px-4 py-6 text-soft">Reading {delegationId}…</h1>;
    }
    return <Problem error={detail.error} onRetry={detail.refetch} />;
  }
  const files = changes.data?.diff?.files.length ?? 0;
  const openArtifact = (hash: string): void =>
    navigate(`/delegations/${delegationId}?tab=artifacts&artifact=${hash}`, { replace: true });
  const { delegation } = feed;
  return (
    <>
      <DelegationHead
        detail={value}
        delegation={delegation}
        actions={
          <DelegationActions
            delegationId={delegationId}
            offered={offeredActions(value, changes.data?.diff, mayAct)}
            diff={changes.data?.diff}
            into={value.contract?.workspace.copy?.of ?? null}
          />
        }
      />
      <DelegationAsk detail={value} mayAnswer={mayAct} />
      <div className="flex min-h-0 flex-1 max-lg:flex-none max-lg:flex-col">
        <div className="w-[36%] max-w-xl shrink-0 overflow-y-auto border-r border-line max-lg:w-full max-lg:max-w-none max-lg:border-r-0">
          <TaskAndResult detail={value} delegation={delegation} onArtifact={openArtifact} />
        </div>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col max-lg:h-[max(24rem,85dvh)] max-lg:flex-none">
          <Tabs
            label="About the delegation"
            // What a person came for: the changes when there are some, otherwise what was said.
            chosen={tab === "" ? (files > 0 ? "changes" : "transcript") : tab}
            onChoose={setTab}
            tabs={[
              {
                id: "transcript",
                label: "Transcript",
                content: () => (
                  <TranscriptTab
                    delegationId={delegationId}
                    runId={value.runId}
                    feed={feed}
                    mayFork={mayAct}
                    isAsking={value.ask !== null}
                    onArtifact={openArtifact}
                  />
                ),
              },
              {
                id: "changes",
                label: files > 0 ? `Changes (${files})` : "Changes",
                content: () => <ChangesTab changes={changes} />,
              },
              {
                id: "requests",
                label: "Model calls",
                content: () => <RequestsTab delegationId={delegationId} />,
              },
              {
                id: "calls",
                label: "Tool calls",
                content: () => <CallsTab feed={feed} onArtifact={openArtifact} />,
              },
              { id: "contract", label: "Contract", content: () => <ContractTab detail={value} /> },
              { id: "evidence", label: "Evidence", content: () => <EvidenceTab detail={value} /> },
              {
                id: "artifacts",
                label:
                  value.artifacts.length === 0
                    ? "Artifacts"
                    : `Artifacts (${value.artifacts.length})`,
                content: () => (
                  <ArtifactsTab
                    detail={value}
                    chosen={query.get("artifact") ?? ""}
                    onChoose={openArtifact}
                  />
                ),
              },
              { id: "events", label: "Events", content: () => <EventsTab feed={feed} /> },
            ]}
          />
        </div>
      </div>
    </>
  );
}
