import type { Failure } from "./run-target.ts";

/** What somebody types to see it fail again. */
export function commandFor(target: string, { path, seed }: Pick<Failure, "path" | "seed">): string {
  const place = path === undefined ? "" : ` --path ${path}`;
  return `npm run fuzz -- --only ${target} --seed=${seed}${place}`;
}
