/** Does to runs with children what machines do to programs, and sees whether anything is lost. */
import { kinds } from "./torture/kinds.ts";
import { type Options, parseOptions, usage } from "./torture/options.ts";
import { openPostgresPlace } from "./torture/postgres-place.ts";
import { Progress } from "./torture/progress.ts";
import { type StoreName, type StorePlace, sqlitePlace } from "./torture/store-place.ts";
import { tableOf } from "./torture/table.ts";
import { FailedRound, type KindReport, torture } from "./torture/torture.ts";

async function main(words: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(words);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  const began = performance.now();
  console.log(
    `torture: ${options.only.join(", ")} on ${options.stores.join(", ")}, seed ${options.seed}`,
  );
  const reports: KindReport[] = [];
  let failed: FailedRound | undefined;
  for (const store of options.stores) {
    const chosen = kinds.filter(
      ({ name, stores }) => options.only.includes(name) && stores.includes(store),
    );
    if (chosen.length === 0 || failed) continue;
    await using place = await openPlace(store);
    for (const kind of chosen) {
      const lack = kind.lack?.();
      if (lack !== undefined) {
        console.log(`SKIPPED ${kind.name}: ${lack}`);
        continue;
      }
      const progress = new Progress(process.stderr, `${kind.name} on ${store}`);
      try {
        const rounds = options.rounds ?? (options.long ? kind.rounds.long : undefined);
        const { children, point, seed, synchronous } = options;
        const asked = {
          ...{ seed, synchronous },
          ...(rounds !== undefined && { rounds }),
          ...(point !== undefined && { point }),
          ...(children !== undefined && { children }),
        };
        reports.push(await torture(kind, place, asked, (tally) => progress.show(tally)));
      } catch (error) {
        if (!(error instanceof FailedRound)) throw error;
        failed = error;
        break;
      } finally {
        progress.end();
      }
    }
  }
  console.log(tableOf(reports));
  if (failed !== undefined) {
    console.log(failureOf(failed, options));
    return 1;
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`passed in ${seconds} s: the checker was clean after every death and every run`);
  return 0;
}

function openPlace(store: StoreName): Promise<StorePlace> {
  return store === "sqlite" ? Promise.resolve(sqlitePlace) : openPostgresPlace();
}

function failureOf({ message, kind, store, point, folder }: FailedRound, options: Options): string {
  const { children, seed, synchronous } = options;
  const again = [
    `--only ${kind} --store ${store} --seed ${seed} --point "${point}"`,
    ...(children === undefined ? [] : [`--children ${children}`]),
    ...(synchronous === "full" ? [] : [`--synchronous ${synchronous}`]),
  ];
  return [
    `FAILED: ${kind} on ${store}, ${point}`,
    message.replaceAll(/^/gm, "  "),
    `kept: ${folder}`,
    `the same again: npm run torture -- ${again.join(" ")}`,
  ].join("\n");
}

// Said outright: what starts a server of Postgres has its own idea of how this process ends.
process.exit(await main(process.argv.slice(2)));
