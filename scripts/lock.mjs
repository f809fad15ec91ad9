import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 250;
const BEAT_MS = 1_000;
const POLLS_WITHOUT_A_BEAT = 60;

/**
 * Runs `work` while holding `directory` as a lock between processes. Runs on Node 20.
 *
 * A lock is abandoned when its owner's process is gone, or when its heartbeat stood still for 15 s
 * of our own polling: wall clocks do not decide, so a machine that slept does not lose its locks,
 * and a process id from another container or an earlier boot does not hold them for ever.
 */
export async function withLock(directory, work, onWait = () => {}) {
  await acquire(directory, onWait);
  const heartbeat = setInterval(() => beat(directory), BEAT_MS);
  const release = () => rmSync(directory, { recursive: true, force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    process.removeListener("exit", release);
    release();
  }
}

async function acquire(directory, onWait) {
  let lastBeat;
  let polls = 0;
  let told = false;
  while (!tryTake(directory)) {
    const owner = readOwner(directory);
    const seen = lastBeatOf(directory);
    polls = seen === lastBeat ? polls + 1 : 0;
    lastBeat = seen;
    if (isGone(owner) || polls >= POLLS_WITHOUT_A_BEAT) {
      moveAway(directory, owner);
      continue;
    }
    if (!told && owner !== undefined) {
      told = true;
      onWait(owner);
    }
    await sleep(POLL_MS);
  }
}

function tryTake(directory) {
  try {
    mkdirSync(directory);
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
  writeFileSync(
    join(directory, "owner.json"),
    JSON.stringify({ pid: process.pid, host: hostname() }),
  );
  return true;
}

function readOwner(directory) {
  try {
    return JSON.parse(readFileSync(join(directory, "owner.json"), "utf8"));
  } catch {
    return undefined; // Not written yet, or released in this moment.
  }
}

function isGone(owner) {
  if (owner === undefined || owner.host !== hostname()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

/**
 * Renaming is atomic: of several processes that saw the same abandoned lock, one moves it. If a new
 * owner came in between the look and the move, it gets its lock back.
 */
function moveAway(directory, abandonedOwner) {
  const aside = `${directory}.${process.pid}`;
  try {
    renameSync(directory, aside);
  } catch {
    return;
  }
  if (readOwner(aside)?.pid !== abandonedOwner?.pid) {
    try {
      renameSync(aside, directory);
      return;
    } catch {
      // A third process took it meanwhile; the lock is theirs.
    }
  }
  rmSync(aside, { recursive: true, force: true });
}

function beat(directory) {
  try {
    const now = new Date();
    utimesSync(directory, now, now);
  } catch {
    // Somebody removed the lock by hand.
  }
}

function lastBeatOf(directory) {
  try {
    return statSync(directory).mtimeMs;
  } catch {
    return undefined;
  }
}
