/** The events of a workflow script that an agent carries out: a part of the event union. */
export type WorkflowCallKind = "agent" | "timer" | "workflow";

/** `changed`: an earlier call had its label, and another prompt or other options. */
export type WorkflowCallReason = "new" | "changed" | "failed" | "interrupted";

/** `call_id`: the agent's call; `key`: the script's. */
export interface WorkflowPayloads {
  "agent.workflow_started": {
    readonly call_id: string;
    readonly name: string;
    readonly description: string;
    readonly phases: readonly { readonly title: string; readonly detail?: string }[];
    /** The hash of the stored script with its arguments and limits. */
    readonly document: string;
    /** The delegation whose recorded results are taken. */
    readonly resumes?: string;
  };
  /** The script asks for something, for the first time in this run. */
  "agent.workflow_called": {
    readonly call_id: string;
    readonly key: string;
    readonly kind: WorkflowCallKind;
    readonly label: string;
    readonly phase?: string;
    /** The earlier delegation whose result a call of an agent takes. */
    readonly taken_from?: string;
    /** In a resumed workflow: why it is not taken from the earlier run. */
    readonly why?: WorkflowCallReason;
    /** When a timer is due. */
    readonly due_at?: number;
    /** The hash of the stored text of a child script. */
    readonly script?: string;
  };
  /** What the call gave. The script sees it only when this is on disk, in this order. */
  "agent.workflow_settled": {
    readonly call_id: string;
    readonly key: string;
    readonly outcome: "value" | "null" | "error";
    /** The delegation whose output is the value. */
    readonly delegation?: string;
    readonly error?: { readonly name: string; readonly message: string };
    /** Output tokens. */
    readonly completion?: number;
  };
  /** A phase that the script began, or a line that it logged. */
  "agent.workflow_noted": {
    readonly call_id: string;
    readonly kind: "phase" | "log";
    readonly text: string;
  };
}
