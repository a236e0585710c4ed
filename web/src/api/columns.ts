// Binary columns: the format in which the server sends curves. Values are read in place, without a copy.

/** float32 if the log stored float32. */
export type Numbers = Float64Array | Float32Array;

export interface Curve {
  run: string;
  tag: string;
  /** The name of the group, if the curve is a statistic over several runs. */
  group: string | null;
  /** The runs in the group. */
  runs: string[];
  /** How many points the series has in this window at full resolution. */
  points: number;
  /** True if x and y are the logged points; false if each entry is a pixel column that sums up several points. */
  exact: boolean;
  nan: number;
  inf: number;
  x: Float64Array;
  y: Numbers;
  first: Numbers;
  min: Numbers;
  max: Numbers;
  last: Numbers;
  nanCounts: ArrayLike<number> | null;
  plusInfCounts: ArrayLike<number> | null;
  minusInfCounts: ArrayLike<number> | null;
  smooth: Numbers | null;
  /** The points that a restart replaced, as a separate curve. */
  orphans: Curve | null;
  /** The band around a group's mean or median; that of the smoothed runs if the curve is smoothed. */
  low: Numbers | null;
  high: Numbers | null;
  /** The first and last x of the whole series, in this window or not; null if it has no points. */
  extent: [first: number, last: number] | null;
}

type BlockLocation = [offset: number, count: number, type: "f8" | "f4" | "u4" | "u1"];
type Block = Float64Array | Float32Array | Uint32Array | Uint8Array;
interface Header {
  revision: number;
  series: (Record<string, unknown> & { columns: Record<string, BlockLocation> })[];
}

const MAGIC = 0x31434250; // "PBC1", little-endian

/** The header fields and the blocks of the series in a response. */
function readSeries(buffer: ArrayBuffer): { revision: number; series: Header["series"]; start: number } {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new Error("The response is not in binary columns format: it does not start with PBC1.");
  }
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Header;
  return { ...header, start: Math.ceil((8 + length) / 8) * 8 };
}

/** A family of tags over steps: one row of values per member, the smallest number first. */
export interface Heatmap {
  run: string;
  family: string;
  /** The number of each member, as it is in its tag. */
  members: string[];
  /** The first and last step. */
  span: [first: number, last: number];
  /** The middle of each column. */
  x: Numbers;
  /** Members x columns. NaN where nothing was logged, infinite where a value is not finite. */
  values: Numbers;
}

export function readHeatmap(buffer: ArrayBuffer): Heatmap {
  const { series, start } = readSeries(buffer);
  const { columns, ...header } = series[0]!;
  return {
    ...(header as unknown as Pick<Heatmap, "run" | "members" | "span">),
    family: String(header["tag"]),
    x: readBlock(buffer, start, columns["x"]!) as Numbers,
    values: readBlock(buffer, start, columns["values"]!) as Numbers,
  };
}

/** The curves in a response, and the server revision they belong to. */
export function readColumns(buffer: ArrayBuffer): { revision: number; curves: Curve[] } {
  const { revision, series, start } = readSeries(buffer);
  return { revision, curves: series.map((one) => readCurve(buffer, start, one)) };
}

function readCurve(buffer: ArrayBuffer, start: number, series: Header["series"][number]): Curve {
  const blocks = new Map<string, Block>();
  for (const [name, location] of Object.entries(series.columns)) blocks.set(name, readBlock(buffer, start, location));
  const orphan = blocks.get("orphan");
  const count = blocks.get("x")?.length ?? 0;
  // Orphaned rows come last.
  let kept = count;
  if (orphan) while (kept > 0 && orphan[kept - 1]) kept -= 1;
  const curve = curveFromBlocks(series, blocks, 0, kept);
  if (kept < count) curve.orphans = curveFromBlocks(series, blocks, kept, count);
  return curve;
}

function curveFromBlocks(series: Record<string, unknown>, blocks: Map<string, Block>, from: number, to: number): Curve {
  const slice = (name: string): Block | null => blocks.get(name)?.subarray(from, to) ?? null;
  const floats = (name: string): Numbers | null => {
    const values = slice(name);
    return values === null || values instanceof Float64Array || values instanceof Float32Array
      ? values
      : Float64Array.from(values);
  };
  const steps = floats("x") ?? new Float64Array();
  const x = steps instanceof Float64Array ? steps : Float64Array.from(steps);
  const group = series["group"];
  const y = floats("y");
  const last = floats("last") ?? y ?? new Float64Array(x.length).fill(NaN);
  return {
    run: String(series["run"] ?? group ?? ""),
    tag: String(series["tag"] ?? ""),
    group: group === undefined || group === null ? null : String(group),
    runs: Array.isArray(series["runs"]) ? series["runs"].map(String) : [],
    points: Number(series["points"] ?? x.length),
    exact: y !== null,
    nan: Number(series["nan"] ?? 0),
    inf: Number(series["inf"] ?? 0),
    x,
    y: y ?? last,
    first: floats("first") ?? last,
    min: floats("min") ?? last,
    max: floats("max") ?? last,
    last,
    nanCounts: slice("nan"),
    plusInfCounts: slice("plus_inf"),
    minusInfCounts: slice("minus_inf"),
    smooth: floats("smooth"),
    orphans: null,
    low: floats("smooth_low") ?? floats("low"),
    high: floats("smooth_high") ?? floats("high"),
    extent: readExtent(series["extent"]),
  };
}

function readExtent(value: unknown): Curve["extent"] {
  return Array.isArray(value) && value.length === 2 ? [Number(value[0]), Number(value[1])] : null;
}

function readBlock(buffer: ArrayBuffer, start: number, [offset, count, type]: BlockLocation): Block {
  const at = start + offset;
  switch (type) {
    case "f8":
      return new Float64Array(buffer, at, count);
    case "f4":
      return new Float32Array(buffer, at, count);
    case "u4":
      return new Uint32Array(buffer, at, count);
    case "u1":
      return new Uint8Array(buffer, at, count);
  }
}

/** A curve made from points in memory. */
export function makeCurve(run: string, tag: string, x: ArrayLike<number>, y: ArrayLike<number>): Curve {
  const xs = Float64Array.from(x);
  const ys = Float64Array.from(y);
  let nan = 0;
  let inf = 0;
  for (const value of ys) {
    if (Number.isNaN(value)) nan += 1;
    else if (!Number.isFinite(value)) inf += 1;
  }
  return {
    run,
    tag,
    group: null,
    runs: [],
    points: xs.length,
    exact: true,
    nan,
    inf,
    x: xs,
    y: ys,
    first: ys,
    min: ys,
    max: ys,
    last: ys,
    nanCounts: null,
    plusInfCounts: null,
    minusInfCounts: null,
    smooth: null,
    orphans: null,
    low: null,
    high: null,
    extent: xs.length > 0 ? [xs[0]!, xs[xs.length - 1]!] : null,
  };
}
