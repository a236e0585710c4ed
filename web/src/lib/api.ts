// The words of the HTTP interface, as docs/design/serving.md has them.

export type Severity = "info" | "warning" | "critical";
export type Status = "ok" | Severity;
export type XKind = "step" | "relative" | "wall";
export type Smoother = "debiased" | "time-weighted" | "gaussian" | "running-mean";

export interface ServerStatus {
  version: string;
  title: string;
  directories: string[];
  loading: { done: number; total: number } | null;
  revision: number;
  role: "read" | "full";
  findings: boolean;
}

/** What a user has said about a run; kept by the server. */
export interface Marks {
  name?: string | null;
  color?: string | null;
  hidden?: boolean;
  note?: string | null;
  tags?: string[];
  pinned?: boolean;
  expected?: string[];
}

export interface RunSummary {
  name: string;
  aliases: string[];
  directory: string;
  /** Seconds since 1970 of the first and the newest record; null where there is none. */
  started: number | null;
  ended: number | null;
  last_step: number | null;
  points: number;
  tags: number;
  kinds: string[];
  ranks: number[];
  restarts: number;
  live: boolean;
  status: Status | null;
  marks: Marks | null;
}

export interface TagSummary {
  tag: string;
  kinds: string[];
  runs: number | string[];
}

export interface WindowQuery {
  runs: string[];
  tags: string[];
  x: XKind;
  from: number | null;
  to: number | null;
  buckets: number;
  log_x: boolean;
  smoothing: { kind: Smoother; weight: number } | null;
  orphans: boolean;
  rank: number | null;
}

export type Statistic = "mean-sd" | "mean-se" | "mean-95" | "median-range";

export interface Evidence {
  metric: string;
  what: string;
  value: number | string | null;
  limit?: number | string | null;
  step?: number | null;
}

export interface Finding {
  slug: string;
  severity: Severity;
  metric: string | null;
  first_step: number | null;
  last_step: number | null;
  summary: string;
  title?: string;
  evidence: Evidence[];
  causes: string[];
  checks: string[];
  fixes: string[];
}

export interface Cause {
  slug: string;
  title?: string;
  probability: number;
  because: string[];
  against: string[];
  fixes: string[];
}

export interface RunReport {
  run: string;
  path: string;
  status: Status;
  steps: [number, number] | null;
  profile: string;
  roles: Record<string, string>;
  findings: Finding[];
  causes: Cause[];
  next_check: { do: string; why: string } | null;
  not_checked: { slug: string; because: string; log: string }[];
}

export interface Report {
  schema: number;
  runs: RunReport[];
  pending?: string[];
}

export interface Meaning {
  role: string | null;
  meaning: string | null;
  expected: string | null;
  unit: string | null;
  warning_signs: string[] | string | null;
  bands: { kind: "healthy" | "warning" | "critical"; from: number | null; to: number | null }[];
  profile: string | null;
}

export interface Histograms {
  steps: number[];
  wall_times: number[];
  /** One row a step, one entry a bucket. */
  lefts: number[][];
  rights: number[][];
  counts: number[][];
}

export interface Distributions {
  steps: number[];
  wall_times: number[];
  basis_points: number[];
  values: number[][];
}

export interface MediaItem {
  index: number;
  step: number;
  wall_time: number;
  width?: number | null;
  height?: number | null;
  media_type: string;
  frames?: number;
  label?: string | null;
}

export interface TextItem {
  step: number;
  wall_time: number;
  text: string;
  html: string;
}

export type Scalar = string | number | boolean | null;

export interface RunHparams {
  hparams: Record<string, unknown>;
  config: Record<string, unknown>;
  metrics: Record<string, number | null>;
}

export interface GraphNode {
  name: string;
  op: string | null;
  kind: string;
  inputs: string[];
  device?: string | null;
  shape?: string | null;
  parameters?: number | null;
  attrs?: Record<string, unknown>;
}

export interface Changed {
  revision: number;
  added: string[];
  removed: string[];
  grown: Record<string, number | null>;
}

/** An answer of the server that is an error, in the words it used. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly what: string,
    readonly advice: string,
  ) {
    super(what);
  }
}
