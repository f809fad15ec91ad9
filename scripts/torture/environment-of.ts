import type { Job } from "./job.ts";

/** Where everything of one run is: nothing of the machine's own settings is seen. */
export function environmentOf({ home, postgres }: Job): Readonly<Record<string, string>> {
  return {
    MANDATE_HOME: home,
    HOME: home,
    PATH: process.env["PATH"] ?? "",
    ...(postgres && { MANDATE_DATABASE_URL: postgres.url, MANDATE_TENANT: postgres.tenant }),
  };
}
