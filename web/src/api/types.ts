// Short names for the types of the HTTP interface.

import type { components } from "./api_types";

type Schemas = components["schemas"];

export type ServerStatus = Schemas["ServerStatus"];
export type Marks = Schemas["Marks"];
export type RunSummary = Schemas["RunSummary"];
export type TagSummary = Schemas["TagSummary"];
export type WindowQuery = Schemas["WindowQuery"];
export type XAxisMetric = Schemas["XAxisMetric"];
export type GroupsQuery = Schemas["GroupsQuery"];
export type Evidence = Schemas["Evidence"];
export type Finding = Schemas["Finding"];
export type Cause = Schemas["Cause"];
export type Incident = Schemas["Incident"];
export type RunReport = Schemas["RunReport"];
export type Report = Schemas["Report"];
export type Meaning = Schemas["Meaning"];
export type Guide = Schemas["Guide"];
export type Scorecard = Schemas["Scorecard"];
export type GuideAnswer = Schemas["GuideAnswer"];
export type GuideProfile = Schemas["GuideProfile"];
export type GuideCell = Schemas["GuideCell"];
export type GuideStages = Schemas["GuideStages"];
export type Histograms = Schemas["Histograms"];
export type Distributions = Schemas["Distributions"];
export type Artifact = Schemas["Artifact"];
export type MediaItem = Schemas["MediaItem"];
export type Texts = Schemas["Texts"];
export type RunHparams = Schemas["RunHparams"];
export type Table = Schemas["Table"];
export type Graph = Schemas["Graph"];
export type GraphNode = Schemas["GraphNode"];
export type Model = Schemas["Model"];
export type Parameter = Schemas["Parameter"];
/** Steps of tags of runs, to be located on another axis. */
export interface PositionsQuery {
  x: string;
  places: { run: string; tag: string; step: number }[];
}
export type Alerts = Schemas["Alerts"];
export type AlertRule = Schemas["AlertRule"];
export type AlertDestination = Schemas["AlertDestination"];
export type AlertMatches = Schemas["AlertMatches"];
export type SavedView = Schemas["SavedView"];
export type Restart = Schemas["Restart"];

export type Severity = Finding["severity"];
export type Status = RunReport["status"];
/** Steps, seconds since the first point, wall times, or the values of a metric. */
export type XAxis = "step" | "relative" | "wall" | `tag:${string}`;
export type Smoother = NonNullable<WindowQuery["smoothing"]>["kind"];
export type Statistic = GroupsQuery["statistic"];

/** What changed on the server since a revision. Sent over the event stream, which OpenAPI cannot describe. */
export interface ServerChange {
  revision: number;
  added: string[];
  removed: string[];
  /** Runs with new points, and their last step. */
  grown: Record<string, number | null>;
}

/** A new finding, as the event stream reports it. */
export interface NewFinding {
  run: string;
  severity: string;
  summary: string;
}

/** How many log files have been read, and whether the first read is still running. */
export interface ReadingProgress {
  done: number;
  total: number;
  reading: boolean;
}
