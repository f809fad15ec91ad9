/**
 * A tool call that policy does not allow, found while the tool looks at its input. Not a fault: the
 * gate turns it into a denial that the model reads, so the message is a sentence that says what to
 * do instead. `rule` is what `agent.tool_denied` names.
 */
export class CallDenied<Rule extends string = string> extends Error {
  readonly rule: Rule;

  constructor(rule: Rule, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CallDenied";
    this.rule = rule;
  }
}
