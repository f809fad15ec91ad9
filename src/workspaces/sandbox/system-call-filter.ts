/**
 * The system call filter of every command in the sandbox, as a program for the kernel (classic
 * BPF). It blocks what namespaces leave open: the user's keyrings, socket families without network
 * namespaces, and parts of the kernel that commands do not need.
 */

/** Numbers of one architecture, from the kernel's tables. */
interface Architecture {
  /** AUDIT_ARCH_…: a call of another architecture has other numbers. */
  readonly id: number;
  /** Numbers from here on belong to another set of calls (x32). */
  readonly otherCallsFrom?: number;
  readonly calls: Readonly<Record<CallName, number>>;
}

type CallName = (typeof refused)[number] | (typeof unknown)[number] | (typeof judged)[number];

/** System calls that are answered with "not permitted". */
const refused = [
  // Other processes of the sandbox: the relay to granted hosts is one of them.
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"] as const),
  ...(["process_madvise", "move_pages", "migrate_pages", "fanotify_init"] as const),
  ...(["add_key", "request_key", "keyctl"] as const),
  ...(["bpf", "perf_event_open", "userfaultfd", "syslog"] as const),
  ...(["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"] as const),
  ...(["mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen"] as const),
  ...(["fsconfig", "fsmount", "fspick", "mount_setattr", "open_tree_attr", "setns"] as const),
  ...(["open_by_handle_at", "quotactl", "quotactl_fd", "acct"] as const),
  ...(["swapon", "swapoff", "reboot"] as const),
] as const;

/**
 * Answered as if the kernel did not have them: programs then use older calls. The flags of clone3
 * are in memory, which a filter cannot read.
 */
const unknown = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"] as const;

/** System calls that are decided by their arguments. */
const judged = ["socket", "socketpair", "ioctl", "clone", "unshare"] as const;

const shared = {
  ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, clone3: 435 },
  ...{ open_tree: 428, move_mount: 429, fsopen: 430, fsconfig: 431, fsmount: 432, fspick: 433 },
  ...{ mount_setattr: 442, quotactl_fd: 443, open_tree_attr: 467 },
  ...{ pidfd_getfd: 438, process_madvise: 440 },
};

const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    id: 0xc000003e,
    otherCallsFrom: 0x40000000,
    calls: {
      ...shared,
      ...{ add_key: 248, request_key: 249, keyctl: 250, bpf: 321, perf_event_open: 298 },
      ...{ userfaultfd: 323, syslog: 103, kexec_load: 246, kexec_file_load: 320 },
      ...{ init_module: 175, finit_module: 313, delete_module: 176, mount: 165, umount2: 166 },
      ...{ pivot_root: 155, setns: 308, open_by_handle_at: 304, quotactl: 179, acct: 163 },
      ...{ swapon: 167, swapoff: 168, reboot: 169 },
      ...{ ptrace: 101, process_vm_readv: 310, process_vm_writev: 311, kcmp: 312 },
      ...{ move_pages: 279, migrate_pages: 256, fanotify_init: 300 },
      ...{ socket: 41, socketpair: 53, ioctl: 16, clone: 56, unshare: 272 },
    },
  },
  arm64: {
    id: 0xc00000b7,
    calls: {
      ...shared,
      ...{ add_key: 217, request_key: 218, keyctl: 219, bpf: 280, perf_event_open: 241 },
      ...{ userfaultfd: 282, syslog: 116, kexec_load: 104, kexec_file_load: 294 },
      ...{ init_module: 105, finit_module: 273, delete_module: 106, mount: 40, umount2: 39 },
      ...{ pivot_root: 41, setns: 268, open_by_handle_at: 265, quotactl: 60, acct: 89 },
      ...{ swapon: 224, swapoff: 225, reboot: 142 },
      ...{ ptrace: 117, process_vm_readv: 270, process_vm_writev: 271, kcmp: 272 },
      ...{ move_pages: 239, migrate_pages: 238, fanotify_init: 262 },
      ...{ socket: 198, socketpair: 199, ioctl: 29, clone: 220, unshare: 97 },
    },
  },
};

const known = new Map<string, Buffer>();

interface FilterChoice {
  readonly architecture?: string;
  /**
   * Whether programs may make UNIX sockets. A socket that a process outside serves in a visible
   * folder is then in reach, so that is the person's choice.
   */
  readonly unixSockets?: boolean;
}

/** Undefined for an unknown architecture. Computed once for each choice. */
export function systemCallFilter({
  architecture = process.arch,
  unixSockets = false,
}: FilterChoice = {}): Buffer | undefined {
  const one = Object.hasOwn(architectures, architecture) ? architectures[architecture] : undefined;
  if (one === undefined) return undefined;
  const key = `${architecture} ${unixSockets}`;
  const filter = known.get(key) ?? assemble(instructionsFor(one, unixSockets));
  known.set(key, filter);
  return filter;
}

interface Instruction {
  readonly code: number;
  /** How many instructions are skipped if the comparison is true, and if it is false. */
  readonly yes?: number;
  readonly no?: number;
  readonly value: number;
}

const [notPermitted, noSuchCall, noSuchProtocol, noSuchFamily] = [1, 38, 93, 97];
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const netlinkRoute = 0;
/** None, ICMP, TCP, UDP, ICMPv6, MPTCP. Others would load parts of the kernel on demand. */
const internetProtocols = [0, 1, 6, 17, 58, 262];
const typeOfSocket = 0xf;
/**
 * A pair of these is connected once and for all. A datagram socket of a pair can be connected again,
 * to any path, and so can a raw one, which the kernel makes a datagram socket.
 */
const [stream, seqpacket] = [1, 5];
const newUserNamespace = 0x10000000;
/** TIOCSTI and TIOCLINUX type into the terminal of the watching person. */
const typing = [0x5412, 0x541c];

function instructionsFor(
  { id, otherCallsFrom, calls }: Architecture,
  unixSockets: boolean,
): readonly Instruction[] {
  const program: Instruction[] = [
    load(4),
    { code: ifEqual, value: id, yes: 1 },
    // A call of another architecture is killed, since it would not understand an error number
    // either.
    { code: answer, value: 0x80000000 },
    load(0),
  ];
  if (otherCallsFrom !== undefined) {
    program.push({ code: ifAtLeast, value: otherCallsFrom, no: 1 }, fail(noSuchCall));
  }
  for (const name of refused) program.push(...when(calls[name], [fail(notPermitted)]));
  for (const name of unknown) program.push(...when(calls[name], [fail(noSuchCall)]));
  program.push(
    ...when(calls.socket, [
      loadArgument(0),
      ...(unixSockets ? allowIf(families.unix) : []),
      ...[families.inet, families.inet6].flatMap((family) => when(family, internet)),
      // Interfaces and addresses of the sandbox's own network; no other protocol.
      { code: ifEqual, value: families.netlink, yes: 1 },
      fail(noSuchFamily),
      loadArgument(2),
      ...allowIf(netlinkRoute),
      fail(noSuchFamily),
    ]),
    ...when(calls.socketpair, [
      loadArgument(0),
      { code: ifEqual, value: families.unix, yes: 1 },
      fail(noSuchFamily),
      ...(unixSockets
        ? [allow]
        : [
            loadArgument(1),
            { code: and, value: typeOfSocket },
            ...[stream, seqpacket].flatMap((type) => allowIf(type)),
            fail(notPermitted),
          ]),
    ]),
    ...when(calls.ioctl, [
      loadArgument(1),
      ...typing.flatMap((request) => when(request, [fail(notPermitted)])),
      allow,
    ]),
    ...[calls.clone, calls.unshare].flatMap((call) =>
      when(call, [
        loadArgument(0),
        { code: ifAnyBit, value: newUserNamespace, no: 1 },
        fail(notPermitted),
        allow,
      ]),
    ),
    allow,
  );
  return program;
}

const [ifEqual, ifAtLeast, ifAnyBit, answer, and] = [0x15, 0x35, 0x45, 0x06, 0x54];
const allow: Instruction = { code: answer, value: 0x7fff0000 };
const internet: readonly Instruction[] = [
  loadArgument(2),
  ...internetProtocols.flatMap((protocol) => allowIf(protocol)),
  fail(noSuchProtocol),
];

/** A word of the kernel's description of a call: the number is at 0, the architecture at 4. */
function load(offset: number): Instruction {
  return { code: 0x20, value: offset };
}

/** The lower half, which is all that the kernel reads of these arguments. */
function loadArgument(index: number): Instruction {
  return load(16 + 8 * index);
}

function fail(error: number): Instruction {
  return { code: answer, value: 0x00050000 | error };
}

function when(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [{ code: ifEqual, value, no: then.length }, ...then];
}

function allowIf(value: number): readonly Instruction[] {
  return when(value, [allow]);
}

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, yes = 0, no = 0, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
