import { describe, expect, it } from "vitest";
import { systemCallFilter } from "./system-call-filter.ts";

const [allowed, killed] = ["allowed", "killed"];
const ids = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 };

/** What the kernel would answer: the instructions are run as it runs them. */
function answerOf(
  filter: Buffer,
  arch: number,
  call: number,
  args: readonly number[] = [],
): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, value] of args.entries()) {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  }
  let word = 0;
  for (let at = 0; ; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean) => filter.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(word === value);
    else if (code === 0x35) at += jump(word >= value);
    else if (code === 0x45) at += jump((word & value) !== 0);
    else if (code === 0x54) word &= value;
    else if (code === 0x06) return describeAnswer(value);
    else throw new Error(`unknown instruction ${code}`);
  }
}

function describeAnswer(value: number): string {
  if (value === 0x7fff0000) return allowed ?? "";
  if (value === 0x80000000) return killed ?? "";
  return `error ${value & 0xffff}`;
}

const calls = {
  x64: {
    socket: 41,
    socketpair: 53,
    ioctl: 16,
    clone: 56,
    unshare: 272,
    keyctl: 250,
    read: 0,
    ptrace: 101,
    readsMemory: 310,
  },
  arm64: {
    socket: 198,
    socketpair: 199,
    ioctl: 29,
    clone: 220,
    unshare: 97,
    keyctl: 219,
    read: 63,
    ptrace: 117,
    readsMemory: 270,
  },
};

describe.each(["x64", "arm64"] as const)("the filter on system calls, %s", (architecture) => {
  const filter = systemCallFilter({ architecture }) ?? Buffer.alloc(0);
  const numbers = calls[architecture];
  const ask = (call: number, ...args: number[]) => answerOf(filter, ids[architecture], call, args);

  it("refuses keys, and lets ordinary calls through", () => {
    expect(ask(numbers.keyctl)).toBe("error 1");
    expect(ask(numbers.read)).toBe(allowed);
    // execve, fork, futex and the like: whatever is not named.
    for (const call of [59, 57, 202, 221, 98, 318, 434]) expect(ask(call)).toBe(allowed);
  });

  it("knows the families of sockets that stay in the network of the sandbox, and no other", () => {
    for (const family of [2, 10]) {
      for (const protocol of [0, 1, 6, 17, 58, 262]) {
        expect(ask(numbers.socket, family, 1, protocol)).toBe(allowed);
      }
      // DCCP, L2TP, SCTP, UDP-Lite, SMC.
      for (const protocol of [33, 115, 132, 136, 256]) {
        expect(ask(numbers.socket, family, 1, protocol)).toBe("error 93");
      }
    }
    expect(ask(numbers.socket, 16, 3, 0)).toBe(allowed);
    for (const protocol of [4, 9, 12, 15, 16]) {
      expect(ask(numbers.socket, 16, 3, protocol)).toBe("error 97");
    }
    for (const family of [0, 1, 3, 5, 9, 17, 21, 29, 30, 31, 38, 40, 43, 44, -1]) {
      expect(ask(numbers.socket, family, 1, 0)).toBe("error 97");
    }
    expect(ask(numbers.socketpair, 30, 1, 0)).toBe("error 97");
  });

  it("connects pairs of UNIX sockets once and for all: no datagrams, which can be connected again", () => {
    for (const flags of [0, 0x800, 0x80000]) {
      for (const type of [1, 5]) {
        expect(ask(numbers.socketpair, 1, type | flags, 0)).toBe(allowed);
      }
      for (const type of [2, 3]) {
        expect(ask(numbers.socketpair, 1, type | flags, 0)).toBe("error 1");
      }
    }
  });

  it("lets programs make UNIX sockets where the person chose that, and only then", () => {
    const opened = systemCallFilter({ architecture, unixSockets: true }) ?? Buffer.alloc(0);
    const askOpened = (call: number, ...args: number[]) =>
      answerOf(opened, ids[architecture], call, args);
    for (const type of [1, 2, 5]) {
      expect(askOpened(numbers.socket, 1, type, 0)).toBe(allowed);
      expect(askOpened(numbers.socketpair, 1, type, 0)).toBe(allowed);
    }
    expect(askOpened(numbers.socket, 40, 1, 0)).toBe("error 97");
    expect(askOpened(numbers.keyctl)).toBe("error 1");
  });

  it("looks into no other process", () => {
    for (const call of [numbers.ptrace, numbers.readsMemory, 438, 440]) {
      expect(ask(call)).toBe("error 1");
    }
  });

  it("is not misled by the upper half of an argument, which the kernel does not look at", () => {
    expect(ask(numbers.socket, 2 ** 32 + 40, 1, 0)).toBe("error 97");
    expect(ask(numbers.ioctl, 0, 2 ** 32 + 0x5412)).toBe("error 1");
    expect(ask(numbers.unshare, 2 ** 32 + 0x10000000)).toBe("error 1");
  });

  it("opens no user namespace, and types into no terminal", () => {
    expect(ask(numbers.clone, 0x10000011)).toBe("error 1");
    expect(ask(numbers.clone, 0x01200011)).toBe(allowed);
    expect(ask(numbers.unshare, 0x00000400)).toBe(allowed);
    expect(ask(435)).toBe("error 38");
    for (const request of [0x5412, 0x541c]) expect(ask(numbers.ioctl, 0, request)).toBe("error 1");
    expect(ask(numbers.ioctl, 0, 0x5401)).toBe(allowed);
  });

  it("hides what programs do without: io_uring", () => {
    for (const call of [425, 426, 427]) expect(ask(call)).toBe("error 38");
  });

  it("kills calls of another architecture, whose numbers mean other things", () => {
    const others = Object.values(ids).filter((id) => id !== ids[architecture]);
    for (const id of others) expect(answerOf(filter, id, numbers.read)).toBe(killed);
  });
});

describe("the filter on system calls", () => {
  it("knows nothing of x32, which has the architecture of x64 and other numbers", () => {
    const filter = systemCallFilter({ architecture: "x64" }) ?? Buffer.alloc(0);
    for (const call of [0, 41, 250, 535]) {
      expect(answerOf(filter, ids.x64, 0x40000000 + call)).toBe("error 38");
    }
    expect(answerOf(filter, ids.x64, -1)).toBe("error 38");
  });

  it("is made once, and for known architectures alone", () => {
    const architecture = "x64";
    expect(systemCallFilter({ architecture })).toBe(systemCallFilter({ architecture }));
    expect(systemCallFilter({ architecture: "riscv64" })).toBeUndefined();
    expect(systemCallFilter({ architecture: "constructor" })).toBeUndefined();
  });
});
