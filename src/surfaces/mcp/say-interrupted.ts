/** What a client is told about a delegation that is open and that no process works on. */
export function sayInterrupted(delegationId: string, runId: string): string {
  return `${delegationId} was interrupted: the process that worked on it is gone, and no process works on it now. To resume its work: mandate resume ${runId}. To close it: mandate cancel ${runId}. Then delegate the task again.`;
}
