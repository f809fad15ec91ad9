/** The two formats of Prometheus scrapers. */
export type MetricsFormat = "text" | "openmetrics";

export type Labels = Readonly<Record<string, string>>;

export interface MetricFamily {
  write(lines: string[], format: MetricsFormat): void;
}

/** Most values of a label: names of profiles, tools and models are untrusted. */
const mostValues = 100;
const longestValue = 120;
const otherValue = "other";

/** Bounds the number and the length of label values. */
class LabelValues {
  readonly #known = new Map<string, Set<string>>();

  bounded(labels: Labels): Labels {
    return Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [name, this.#one(name, value)]),
    );
  }

  #one(name: string, value: string): string {
    let known = this.#known.get(name);
    if (known === undefined) {
      known = new Set();
      this.#known.set(name, known);
    }
    const short = value.slice(0, longestValue);
    if (known.has(short)) return short;
    if (known.size >= mostValues) return otherValue;
    known.add(short);
    return short;
  }
}

/** A value that only grows. */
export class Counter implements MetricFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #values = new LabelValues();
  readonly #series = new Map<string, number>();

  /** `name` without the suffix `_total`, which is added to every series. */
  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  add(labels: Labels = {}, amount = 1): void {
    // An amount from a provider or a file may be negative, infinite or NaN.
    if (!(amount >= 0 && amount < Number.POSITIVE_INFINITY)) return;
    const key = seriesOf(this.#values.bounded(labels));
    this.#series.set(key, (this.#series.get(key) ?? 0) + amount);
  }

  write(lines: string[], format: MetricsFormat): void {
    const family = format === "text" ? `${this.#name}_total` : this.#name;
    head(lines, family, this.#help, "counter");
    for (const [key, value] of this.#series) lines.push(`${this.#name}_total${key} ${value}`);
  }
}

type Readings = () => Iterable<readonly [labels: Labels, value: number]>;

/** A value that is read at each scrape: it goes up and down, or is counted elsewhere. */
export class Reading implements MetricFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #type: "gauge" | "counter";
  readonly #read: Readings;

  constructor(name: string, help: string, type: "gauge" | "counter", read: Readings) {
    this.#name = name;
    this.#help = help;
    this.#type = type;
    this.#read = read;
  }

  write(lines: string[], format: MetricsFormat): void {
    const series = this.#type === "counter" ? `${this.#name}_total` : this.#name;
    head(lines, format === "text" ? series : this.#name, this.#help, this.#type);
    for (const [labels, value] of this.#read()) lines.push(`${series}${seriesOf(labels)} ${value}`);
  }
}

interface Distribution {
  readonly labels: Labels;
  /** The number of values between each bound and the bound before it. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** A distribution of durations, in seconds. */
export class Histogram implements MetricFamily {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #values = new LabelValues();
  readonly #series = new Map<string, Distribution>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  observe(labels: Labels, seconds: number): void {
    if (!(seconds >= 0 && seconds < Number.POSITIVE_INFINITY)) return;
    const bounded = this.#values.bounded(labels);
    const key = seriesOf(bounded);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels: bounded, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
      this.#series.set(key, series);
    }
    const index = this.#bounds.findIndex((bound) => seconds <= bound);
    if (index !== -1) series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += seconds;
    series.count++;
  }

  write(lines: string[]): void {
    head(lines, this.#name, this.#help, "histogram");
    for (const { labels, counts, sum, count } of this.#series.values()) {
      let below = 0;
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] ?? 0;
        lines.push(`${this.#name}_bucket${seriesOf({ ...labels, le: String(bound) })} ${below}`);
      }
      lines.push(`${this.#name}_bucket${seriesOf({ ...labels, le: "+Inf" })} ${count}`);
      lines.push(`${this.#name}_sum${seriesOf(labels)} ${sum}`);
      lines.push(`${this.#name}_count${seriesOf(labels)} ${count}`);
    }
  }
}

function head(lines: string[], name: string, help: string, type: string): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
}

function seriesOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Each series is one line, so a value must not contain an unescaped quote or a line break. */
function escapeValue(value: string): string {
  return value
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replace(/\p{Cc}|\p{Cs}/gu, "�");
}
