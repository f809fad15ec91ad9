/**
 * One field of a request: what was asked, what was granted, what was left out and which side left it out. A
 * receipt is made before the first model call and holds a line for each field that was asked for
 * explicitly or that came out smaller than asked.
 */
export interface ReceiptLine {
  readonly field: string;
  readonly requested: unknown;
  readonly granted: unknown;
  readonly dropped?: readonly string[];
  readonly reason?: string;
}
