import { generateKeyPairSync, sign } from "node:crypto";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate for one name, signed by itself, made on the spot so that no key is kept anywhere. */
export function makeCertificate(host: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(objectId(1, 2, 840, 10045, 4, 3, 2));
  const commonName = sequence(objectId(2, 5, 4, 3), element(0x0c, Buffer.from(host)));
  const name = sequence(element(0x31, commonName));
  const time = (moment: number) => {
    const digits = new Date(moment).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
    return element(0x18, Buffer.from(digits));
  };
  const [now, day] = [Date.now(), 86_400_000];
  const names = sequence(element(0x82, Buffer.from(host)));
  const isAuthority = sequence(element(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(objectId(2, 5, 29, 17), element(0x04, names)),
    sequence(
      objectId(2, 5, 29, 19),
      element(0x01, Buffer.from([0xff])),
      element(0x04, isAuthority),
    ),
  );
  const body = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(now - day), time(now + day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, extensions),
  );
  const signature = element(0x03, Buffer.concat([Buffer.of(0), sign("sha256", body, privateKey)]));
  const base64 = sequence(body, algorithm, signature).toString("base64");
  const lines = base64.match(/.{1,64}/g)?.join("\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 128
      ? [length]
      : length < 256
        ? [0x81, length]
        : [0x82, Math.floor(length / 256), length % 256];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts));
}

function objectId(first: number, second: number, ...more: readonly number[]): Buffer {
  const bytes = [first * 40 + second];
  for (const number of more) {
    const digits = [number % 128];
    for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) {
      digits.unshift((rest % 128) + 128);
    }
    bytes.push(...digits);
  }
  return element(0x06, Buffer.from(bytes));
}
