/** A message of the runtime to a model. */
export type Reminder =
  | { readonly code: "answer_empty" }
  | { readonly code: "answer_cut" }
  | { readonly code: "exit_required"; readonly tools: readonly string[] }
  | { readonly code: "schema_unmet"; readonly text: string }
  /** The reminder before the first final answer: children are still running. */
  | { readonly code: "children_running"; readonly children: readonly ChildName[] }
  /** A background child of an earlier message. */
  | {
      readonly code: "child_ended";
      readonly child: ChildName;
      readonly outcome: "completed" | "failed";
    }
  | {
      readonly code: "server_unavailable";
      /** Absent in logs of earlier versions. */
      readonly server?: string;
      readonly text: string;
    };

export interface ChildName {
  readonly id: string;
  readonly profile: string;
  readonly title: string;
}

/** The sentence that the model reads. */
export function describeReminder(reminder: Reminder): string {
  switch (reminder.code) {
    case "answer_empty":
      return "Your answer was empty. Continue, or give your result.";
    case "answer_cut":
      return "Your answer was cut at the length limit. Give it again, shorter.";
    case "exit_required":
      return `You may stop only by calling ${reminder.tools.join(" or ")}. Go on working, or call it.`;
    case "schema_unmet":
      return `Your result does not fit the schema it was asked for: ${reminder.text} Give it again as JSON only.`;
    case "children_running": {
      const names = reminder.children.map(
        ({ id, profile, title }) => `${id} (${profile}: ${title})`,
      );
      return `Your answer does not end the sub-agents that still run: ${names.join("; ")}. You can wait for them, cancel them, or leave them: give your final answer again, and they continue. Their results reach the inbox, and you with the next message.`;
    }
    case "child_ended": {
      const { id, profile, title } = reminder.child;
      return `Your sub-agent ${id} (${profile}: ${title}) has ended: ${reminder.outcome}. You can ask for its result by its id.`;
    }
    case "server_unavailable":
      return `${reminder.text} Its tools are not available to you.`;
    default:
      return reminder satisfies never;
  }
}
