/** What a server answers with when it does not do what was asked (RFC 9457). */
export interface ApiProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** A sentence for people. */
  readonly detail: string;
  /** For programs: `unknown-run`, `refused-by-policy`. */
  readonly code: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  /** Of a change that came too late: what the record is now. */
  readonly current?: { readonly version: number; readonly value: unknown };
  readonly instance?: string;
}

/** The server answered, and the answer is no. Failures of the network are thrown as they are. */
export class MandateApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: ApiProblem;

  constructor(problem: ApiProblem) {
    super(problem.detail);
    this.name = "MandateApiError";
    this.status = problem.status;
    this.code = problem.code;
    this.problem = problem;
  }
}

/** Also of an answer that is no problem at all: somebody in between may have written it. */
export async function readProblem(response: Response): Promise<MandateApiError> {
  const { status, statusText } = response;
  const title = statusText === "" ? `Status ${status}` : statusText;
  const unknown = { type: "about:blank", title, status, code: `http-${status}` };
  const text = await response.text().catch(() => "");
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "detail" in problem) {
      return new MandateApiError({ ...unknown, ...problem } as ApiProblem);
    }
  } catch {
    // No JSON.
  }
  const detail = `The server answered with status ${status} and no explanation.`;
  return new MandateApiError({ ...unknown, detail });
}
