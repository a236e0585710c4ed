// The words of the HTTP interface: the server's own, by short names.

import type { components } from "./api_types";

type Schemas = components["schemas"];

export type ServerStatus = Schemas["ServerStatus"];
export type Marks = Schemas["Marks"];
export type RunSummary = Schemas["RunSummary"];
export type TagSummary = Schemas["TagSummary"];
export type WindowQuery = Schemas["WindowQuery"];
export type GroupsQuery = Schemas["GroupsQuery"];
export type Evidence = Schemas["Evidence"];
export type Finding = Schemas["Finding"];
export type Cause = Schemas["Cause"];
export type RunReport = Schemas["RunReport"];
export type Report = Schemas["Report"];
export type Meaning = Schemas["Meaning"];
export type Guide = Schemas["Guide"];
export type Histograms = Schemas["Histograms"];
export type Distributions = Schemas["Distributions"];
export type MediaItem = Schemas["MediaItem"];
export type TextItem = Schemas["TextItem"];
export type RunHparams = Schemas["RunHparams"];
export type Table = Schemas["Table"];
export type Graph = Schemas["Graph"];
export type GraphNode = Schemas["GraphNode"];
export type Model = Schemas["Model"];
export type Parameter = Schemas["Parameter"];
export type Points = Schemas["Points"];
export type Restart = Schemas["Restart"];

export type Severity = Finding["severity"];
export type Status = RunReport["status"];
export type XKind = WindowQuery["x"];
export type Smoother = NonNullable<WindowQuery["smoothing"]>["kind"];
export type Statistic = GroupsQuery["statistic"];

/** An event of the stream, which OpenAPI has no words for: docs/design/serving.md. */
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
