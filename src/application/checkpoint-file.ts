import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { z } from "zod";
import type { CheckReport } from "../events/checker/check-report.ts";
import { checkStore } from "../events/checker/check-store.ts";
import { type Checkpoint, OrderHash, type RunEnd } from "../events/checkpoint.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { parseJson } from "../ports/parse-json.ts";
import type { Store } from "../ports/store.ts";

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const number = z.int().nonnegative();

const fileSchema = z.strictObject({
  checkpoint: z.literal(1),
  at: z.iso.datetime(),
  seq: number,
  order: hash,
  /** For each run: id, number of events, sequence number and hash of the last event. */
  runs: z.array(z.tuple([z.string().regex(/^r[0-9a-f]{6,8}$/), number, number, hash])),
  signature: z
    .strictObject({ algorithm: z.literal("ed25519"), key: hash, value: z.base64() })
    .optional(),
});

type File = z.infer<typeof fileSchema>;

/** Writes a checkpoint as JSON, one run a line, signed if a key is given. */
export function writeCheckpoint(checkpoint: Checkpoint, key?: string): string {
  const { at, order, runs, seq } = checkpoint;
  const file: File = {
    checkpoint: 1,
    at: new Date(at).toISOString(),
    seq,
    order,
    runs: runs.map((run) => [run.runId, run.events, run.seq, run.hash]),
  };
  const { runs: lines, ...rest } = file;
  const signature = key === undefined ? undefined : signatureOf(file, privateKeyIn(key));
  const fields = [
    ...Object.entries(rest).map(([name, value]) => `  "${name}": ${JSON.stringify(value)}`),
    `  "runs": [\n${lines.map((line) => `    ${JSON.stringify(line)}`).join(",\n")}\n  ]`,
    ...(signature ? [`  "signature": ${JSON.stringify(signature)}`] : []),
  ];
  return `{\n${fields.join(",\n")}\n}\n`;
}

interface ReadCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly isSigned: boolean;
  /** The reason why the signature is invalid; absent: it is valid, or no key was given. */
  readonly problem?: string;
}

/** Reads a checkpoint. With a key, the signature must be that key's over exactly this content. */
export function readCheckpoint(text: string, key?: string): ReadCheckpoint {
  let parsed: ReturnType<typeof fileSchema.safeParse>;
  try {
    parsed = fileSchema.safeParse(parseJson(text));
  } catch (cause) {
    throw noCheckpoint("it is not JSON", cause);
  }
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw noCheckpoint(`${issue?.path.join(".") || "it"}: ${issue?.message}`, parsed.error);
  }
  const { at, order, runs, seq, signature } = parsed.data;
  const checkpoint: Checkpoint = {
    version: 1,
    at: Date.parse(at),
    seq,
    order,
    runs: runs.map(([runId, events, last, end]) => ({ runId, events, seq: last, hash: end })),
  };
  const problem = key === undefined ? undefined : signatureProblem(parsed.data, publicKeyIn(key));
  return {
    checkpoint,
    isSigned: signature !== undefined,
    ...(problem !== undefined && { problem }),
  };
}

function signatureOf(file: File, key: KeyObject): NonNullable<File["signature"]> {
  const value = sign(null, signedBytes(file), key).toString("base64");
  return { algorithm: "ed25519", key: fingerprintOf(createPublicKey(key)), value };
}

function signatureProblem({ signature, ...file }: File, key: KeyObject): string | undefined {
  if (signature === undefined) return "The checkpoint is not signed.";
  if (signature.key !== fingerprintOf(key)) return "The checkpoint is signed with another key.";
  return verify(null, signedBytes(file), key, Buffer.from(signature.value, "base64"))
    ? undefined
    : "The signature of the checkpoint is invalid: the checkpoint was changed, or another key signed it.";
}

/** The signed bytes: everything but the signature, in a fixed order and without white space. */
function signedBytes({ at, checkpoint, order, runs, seq }: File): Buffer {
  return Buffer.from(JSON.stringify([checkpoint, at, seq, order, runs]));
}

function fingerprintOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex");
}

function privateKeyIn(pem: string): KeyObject {
  return requireEd25519(() => createPrivateKey(pem), "a private key");
}

function publicKeyIn(pem: string): KeyObject {
  return requireEd25519(() => createPublicKey(pem), "a public key");
}

function requireEd25519(read: () => KeyObject, what: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (cause) {
    throw noKey(what, cause);
  }
  if (key.asymmetricKeyType !== "ed25519") throw noKey(what);
  return key;
}

function noKey(what: string, cause?: unknown): MandateError {
  const message = `--key needs a file with ${what} for Ed25519, in PEM and without a passphrase. \`openssl genpkey -algorithm ed25519 -out key.pem\` makes one; \`openssl pkey -in key.pem -pubout\` prints its public half.`;
  return new MandateError("usage", message, { cause });
}

function noCheckpoint(why: string, cause: unknown): MandateError {
  const message = `This is no checkpoint (${why}). \`mandate verify --head\` prints one.`;
  return new MandateError("usage", message, { cause });
}

/**
 * Reads and checks the whole log, and returns its checkpoint. An invalid log gets none, since a
 * checkpoint would vouch for it.
 */
export async function takeCheckpoint(
  store: Store,
  at: number,
): Promise<{ readonly report: CheckReport; readonly checkpoint: Checkpoint | undefined }> {
  const runs: RunEnd[] = [];
  const order = new OrderHash();
  const report = await checkStore(store, {
    order,
    onLog: ({ events, hash, runId, seq }) => void runs.push({ runId, events, seq, hash }),
  });
  if (!report.ok) return { report, checkpoint: undefined };
  const seq = order.last;
  return { report, checkpoint: { version: 1, at, seq, order: order.digest(), runs } };
}
