import { atMost, type Bar, below } from "./bars.ts";
import type { InstallSize } from "./install-size.ts";
import { medianOf, type Report } from "./report.ts";

const subjects = ["mandate/sqlite-normal", "mandate/sqlite-full"];

/** What lies beyond the bars: as near to it as there is reason to go. */
export function aimsOf(report: Report, sizes: readonly InstallSize[]): Bar[] {
  return [
    ...subjects.flatMap((subject) => {
      const value = (measure: string, field: string): number =>
        medianOf(report, measure, subject, field);
      return [
        atMost(`100 children in one turn, ${subject}`, value("fanout100", "ratio"), 1.1, "× ideal"),
        atMost(`1,000 children, ${subject}`, value("fanout1000", "ratio"), 1.8, "× ideal"),
        atMost(`Event-loop lag p99, ${subject}`, value("fanout1000", "lagP99"), 30, "ms"),
        atMost(`Live heap per child, ${subject}`, value("live300", "heapKbPerChild"), 8, "KB"),
        atMost(`Turn 200 over turn 20, ${subject}`, value("long200", "growth"), 1.05, "×"),
      ];
    }),
    atMost("Import over bare Node", overBare(report, "mandate"), 30, "ms"),
    below(
      "Import over bare Node, beside the best peer's",
      overBare(report, "mandate"),
      best(report),
      "ms",
    ),
    ...["deepagents", "mastra"].flatMap((peer) => againstPeer(sizes, peer)),
  ];
}

/** How the peers' benchmark calls the Node that imports nothing. */
const bareNode = "node";

export function overBare(report: Report, subject: string): number {
  const cold = (name: string): number => medianOf(report, "cold", name, "wallMs");
  return cold(subject) - cold(bareNode);
}

export function imported(report: Report): string[] {
  return Object.keys(report.measures["cold"] ?? {}).filter((name) => name !== bareNode);
}

function best(report: Report): number {
  const peers = imported(report).filter((name) => name !== "mandate" && name !== "floor");
  return Math.round(Math.min(...peers.map((peer) => overBare(report, peer))));
}

function againstPeer(sizes: readonly InstallSize[], name: string): Bar[] {
  const ours = sizes.find(({ subject }) => subject === "mandate");
  const peer = sizes.find(({ subject }) => subject === name);
  if (ours === undefined || peer === undefined) return [];
  return [
    below(`Packages installed, beside ${name}`, ours.packages, peer.packages, "packages"),
    below(`Installed size, beside ${name}`, ours.megabytes, Math.round(peer.megabytes), "MB"),
  ];
}
