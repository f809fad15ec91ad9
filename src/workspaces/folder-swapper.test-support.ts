import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** Swaps a folder with a link to the outside as fast as it can, until it is told to stop. */
const swapper = `
  const { renameSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const { folder, link, spare, aside, shared } = workerData;
  const state = new Int32Array(shared);
  function replace(from, to) {
    for (;;) {
      // A write that met the gap creates the folder anew; those would be searched with the rest.
      try { return renameSync(from, to); } catch { renameSync(to, aside + Math.random()); }
    }
  }
  while (Atomics.load(state, 0) === 0) {
    renameSync(folder, spare);
    replace(link, folder);
    renameSync(folder, link);
    replace(spare, folder);
    Atomics.add(state, 1, 1);
  }
  parentPort.postMessage("stopped");
`;

export interface FolderSwapper {
  readonly root: string;
  /** Holds `a.txt` and `deep/a.txt` with "CANARY", and the file `only-outside`. */
  readonly outside: string;
  /** How often the folder was swapped so far. */
  readonly swaps: number;
  stop(): Promise<void>;
  remove(): void;
}

/** A workspace whose folder `folder`, with "inside" in `a.txt` and `deep/a.txt`, is being swapped. */
export async function startSwapper(): Promise<FolderSwapper> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "mandate-race-")));
  const root = join(base, "app");
  const outside = join(base, "outside");
  mkdirSync(join(root, "folder/deep"), { recursive: true });
  mkdirSync(join(outside, "deep"), { recursive: true });
  for (const [place, content] of [
    [join(root, "folder"), "inside"],
    [outside, "CANARY"],
  ] as const) {
    writeFileSync(join(place, "a.txt"), content);
    writeFileSync(join(place, "deep/a.txt"), content);
  }
  writeFileSync(join(outside, "only-outside"), "");
  symlinkSync(outside, join(root, "link"));
  const shared = new SharedArrayBuffer(8);
  const state = new Int32Array(shared);
  const paths = { folder: join(root, "folder"), link: join(root, "link") };
  const workerData = { ...paths, spare: join(root, "spare"), aside: join(base, "aside-"), shared };
  const worker = new Worker(swapper, { eval: true, workerData });
  const finished = new Promise<void>((done) => worker.once("message", () => done()));
  await new Promise((online) => worker.once("online", online));
  return {
    root,
    outside,
    get swaps() {
      return Atomics.load(state, 1);
    },
    stop() {
      Atomics.store(state, 0, 1);
      return finished;
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}
