/** One measure of one variant, in a process of its own: node own-worker.ts '<assignment>'. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Effort, ownMeasures } from "./own-measures.ts";
import type { Sample } from "./report.ts";
import { openSubject } from "./subject.ts";

export interface Assignment {
  readonly variant: string;
  readonly measure: string;
  readonly effort: Effort;
}

async function perform({ variant, measure, effort }: Assignment): Promise<Sample> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-bench-"));
  try {
    const host = await openSubject(variant, folder);
    const numbers = await ownMeasures[measure]?.(host, effort);
    const stats = await host.stats();
    await host.close();
    return { ...numbers, stats };
  } catch (error) {
    return { error: String(error) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

console.log(JSON.stringify(await perform(JSON.parse(process.argv[2] ?? "") as Assignment)));
