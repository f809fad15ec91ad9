import { type ReactNode, useState } from "react";
import { client } from "../data/client.ts";
import type { RunFeed } from "../data/run-feed.ts";
import { useLiveQuery } from "../data/use-live-query.ts";
import { isScripted, isScriptedApplication, type SystemReport } from "../pages/system/plug-in.ts";
import { PlugInSteps } from "../pages/system/plug-in-steps.tsx";
import { Link } from "../router/link.tsx";

const place = "mandate-scripted-notice";
/** The server does not look at the machine more often either. */
const staleMs = 60_000;

/** Above the runs, while no language model answers: why, and how to set one up. */
export function ScriptedNotice() {
  const [isShown, setShown] = useState(() => !wasDismissed());
  const models = useModels();
  if (models === undefined) return null;
  if (models.default === null) return <NoModelNotice models={models} />;
  if (!isShown || !isScripted(models.default)) return null;
  const dismiss = (): void => {
    setShown(false);
    rememberDismissal();
  };
  return (
    <Notice
      action={
        <button type="button" className="text-accent hover:underline" onClick={dismiss}>
          Dismiss
        </button>
      }
    >
      <p>
        <strong className="font-semibold text-warn">The scripted model answers here.</strong> It is
        no language model: it says what a playbook says.{" "}
        <span className="max-sm:hidden">For a real one:</span>
        <Link to="/system?tab=models" className="text-accent underline sm:hidden">
          Set up a model
        </Link>
      </p>
      {/* On a phone the steps would take the first screen. */}
      <div className="max-sm:hidden">
        <PlugInSteps models={models} />
      </div>
    </Notice>
  );
}

/** Stays while no model is configured: every start of work is refused until there is one. */
function NoModelNotice({ models }: { readonly models: SystemReport["models"] }) {
  return (
    <Notice action={null}>
      <p>
        <strong className="font-semibold text-warn">No language model is configured</strong>, so no
        work can start. To set one up:
      </p>
      <PlugInSteps models={models} />
    </Notice>
  );
}

/** On a run that the scripted model answered: that it did, and on request what to do about it. */
export function ScriptedRunNotice({ feed }: { readonly feed: RunFeed }) {
  const [isOpen, setOpen] = useState(false);
  if (!isScriptedRun(feed)) return null;
  return (
    <Notice
      action={
        <button
          type="button"
          className="text-accent hover:underline"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "Less" : "Plug in a key or a local model"}
        </button>
      }
    >
      <p>
        <strong className="font-semibold text-warn">The scripted model answered</strong>, from a
        playbook: no language model. Tools, files, contracts and the log are real.
      </p>
      {isOpen && <Steps />}
    </Notice>
  );
}

function Steps() {
  const models = useModels();
  if (models === undefined) return <p className="text-soft">Looking at this machine…</p>;
  return <PlugInSteps models={models} />;
}

interface NoticeProps {
  readonly action: ReactNode;
  readonly children: ReactNode;
}

function Notice({ action, children }: NoticeProps) {
  return (
    <section
      aria-label="Scripted model"
      className="flex shrink-0 flex-wrap items-start gap-x-4 gap-y-1 border-b border-line bg-page px-4 py-2"
    >
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">{children}</div>
      {action}
    </section>
  );
}

function isScriptedRun({ notes, state }: RunFeed): boolean {
  if (isScriptedApplication(state.application)) return true;
  for (const { requested } of notes.values()) {
    if (requested !== null && isScripted(requested)) return true;
  }
  return false;
}

function useModels(): SystemReport["models"] | undefined {
  const { data } = useLiveQuery({
    key: ["system"],
    load: (signal) => client.getSystem({}, { signal }),
    staleMs,
  });
  return data?.models;
}

function wasDismissed(): boolean {
  try {
    return localStorage.getItem(place) !== null;
  } catch {
    return false;
  }
}

function rememberDismissal(): void {
  try {
    localStorage.setItem(place, "dismissed");
  } catch {
    // A browser that keeps nothing shows it again.
  }
}
