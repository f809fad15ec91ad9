/**
 * One field of a request: what was requested, what was granted, and why they differ. A receipt has one
 * line for each field that was requested explicitly or granted only in part.
 */
export interface ReceiptLine {
  readonly field: string;
  readonly requested: unknown;
  readonly granted: unknown;
  readonly dropped?: readonly string[];
  readonly reason?: string;
}
