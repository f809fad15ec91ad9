import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { hostOf, isPublicAddress, readAddress, requirePublic } from "./web-address.ts";

const privateRanges: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  ["168.63.129.16", 32],
];

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

const privateNumber = fc
  .tuple(
    fc.constantFrom(...privateRanges),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
  .map(([[network, length], share]) => toNumber(network) + Math.floor(share * 2 ** (32 - length)));

function bytesOf(value: number): readonly [number, number, number, number] {
  const at = (shift: number) => Math.floor(value / 2 ** shift) % 256;
  return [at(24), at(16), at(8), at(0)];
}

/** One part of an address as decimal, octal or hexadecimal. */
const spelling = fc.constantFrom(
  (part: number) => String(part),
  (part: number) => `0${part.toString(8)}`,
  (part: number) => `0x${part.toString(16)}`,
  (part: number) => `0X00${part.toString(16).toUpperCase()}`,
);

const fullWidth = (text: string) =>
  text.replaceAll(/[0-9.]/g, (each) => String.fromCodePoint((each.codePointAt(0) ?? 0) + 0xfee0));

/** The ways in which an IPv4 address can be written as the host of a URL. */
const ipv4Host = fc
  .tuple(privateNumber, fc.tuple(spelling, spelling, spelling, spelling), fc.nat(7))
  .map(([value, [w, x, y, z], form]) => {
    const [a, b, c, d] = bytesOf(value);
    const forms = [
      `${w(a)}.${x(b)}.${y(c)}.${z(d)}`,
      `${w(a)}.${x(b)}.${y(c * 256 + d)}`,
      `${w(a)}.${x((b * 256 + c) * 256 + d)}`,
      w(value),
      `${a}.${b}.${c}.${d}.`,
      fullWidth(`${a}.${b}.${c}.${d}`),
      `${a}%2e${b}%2E${c}.${d}`,
      `${a}\u3002${b}\uff61${c}.${d}`,
    ];
    return forms[form] ?? "";
  });

const hex = (value: number) => value.toString(16);

/** The ways in which IPv6 carries an IPv4 address. */
const carried = fc.tuple(privateNumber, fc.nat(6)).map(([value, form]) => {
  const [a, b, c, d] = bytesOf(value);
  const groups = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  const forms = [
    `::ffff:${groups}`,
    `::ffff:${a}.${b}.${c}.${d}`,
    `::${groups}`,
    `0:0:0:0:0:FFFF:${groups}`,
    `64:ff9b::${groups}`,
    `2002:${groups}::1`,
    `64:ff9b:1::${groups}`,
  ];
  return forms[form] ?? "";
});

const group = fc.nat(0xffff).map(hex);
const rest = (count: number) => fc.array(group, { minLength: count, maxLength: count });
const prefixed = (prefix: string, count: number) =>
  rest(count).map((groups) => `${prefix}:${groups.join(":")}`);

const closedIpv6 = fc.oneof(
  carried,
  fc.constantFrom("::", "::1", "0:0:0:0:0:0:0:1", "fd00:ec2::254", "fe80::a9fe:a9fe"),
  fc.integer({ min: 0xfc00, max: 0xffff }).chain((first) => prefixed(hex(first), 7)),
  fc.integer({ min: 0x4000, max: 0xfbff }).chain((first) => prefixed(hex(first), 7)),
  prefixed("2001:0", 6),
  prefixed("2001:10", 6),
  prefixed("2001:db8", 6),
  prefixed("2002", 7),
  prefixed("3fff:123", 6),
  prefixed("100", 7),
);

test("no private IPv4 address passes in any spelling of a URL", () => {
  fc.assert(
    fc.property(ipv4Host, fc.constantFrom("http", "https"), (host, scheme) => {
      const url = readAddress(`${scheme}://${host}/`);
      expect(isPublicAddress(hostOf(url))).toBe(false);
      expect(() => requirePublic(url, [hostOf(url)], new Set())).toThrow(/not a public address/);
    }),
    { numRuns: cases(20_000) },
  );
});

test("no private, carried, local or reserved IPv6 address passes", () => {
  fc.assert(
    fc.property(closedIpv6, fc.boolean(), (address, isUpper) => {
      const spelled = isUpper ? address.toUpperCase() : address;
      expect(isPublicAddress(spelled)).toBe(false);
      expect(isPublicAddress(hostOf(readAddress(`http://[${spelled}]/`)))).toBe(false);
    }),
    { numRuns: cases(20_000) },
  );
});

test("public addresses pass, the translated ones of networks without IPv4 among them", () => {
  for (const address of [
    ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
    ...["126.255.255.255", "128.0.0.0", "169.253.1.1", "172.15.0.1", "172.32.0.0", "192.167.0.1"],
    ...["198.17.0.1", "198.20.0.1", "223.255.255.255", "168.63.129.17"],
    ...["2606:4700:4700::1111", "2a00:1450:4001::8a", "2001:4860:4860::8888", "64:ff9b::808:808"],
  ]) {
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
  }
});

test("what is not an address is not a public one", () => {
  for (const text of [
    "",
    "example.com",
    "1.1.1",
    "0x1.1.1.1",
    "1.1.1.1%eth0",
    "2606:4700::1%1",
    "::g",
  ]) {
    expect([text, isPublicAddress(text)]).toEqual([text, false]);
  }
});
