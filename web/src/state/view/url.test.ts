import { describe, expect, test } from "vitest";
import { formatHash, parseHash as parse } from "./url";
import { DEFAULT_VIEW, type View } from "./view";

const TABS: Record<string, string> = { scalars: "scalars", timeseries: "timeseries", graph: "graph", graphs: "graph" };
const parseHash = (hash: string) => parse(hash, (name) => TABS[name] ?? null);

describe("the view in the URL", () => {
  test("TensorBoard's links work", () => {
    expect(parseHash("#scalars&regexInput=baseline&smoothing=0.8")).toEqual({
      tab: "scalars",
      runFilter: "baseline",
      smoothing: 0.8,
    });
    expect(parseHash("#timeseries&tagFilter=loss&_smoothingWeight=0.3&_ignoreYOutliers=true")).toEqual({
      tab: "timeseries",
      tagFilter: "loss",
      smoothing: 0.3,
      ignoreOutliers: true,
    });
    expect(parseHash('#timeseries&pinnedCards=[{"plugin":"scalars","tag":"train/loss"}]').pinned).toEqual([
      "train/loss",
    ]);
    expect(parseHash("#graphs").tab).toBe("graph");
    const state = btoa(JSON.stringify({ a: true, b: false }));
    expect(parseHash(`#scalars&runSelectionState=${encodeURIComponent(state)}`).selection).toEqual({ except: ["b"] });
  });

  test("a view survives the round trip through a URL", () => {
    const view: View = {
      ...DEFAULT_VIEW,
      tab: "scalars",
      runFilter: "^(?!.*test).*",
      tagFilter: "loss|acc&x=1",
      selection: { only: ["a/b", 'quote " and 🦊'] },
      smoothing: 0.25,
      smoother: "gaussian",
      x: "wall",
      logY: true,
      syncZoom: true,
      zoom: [10, 250.5],
      pinned: ["train/loss"],
      overlays: [["train/loss", "val/loss"]],
      groupBy: { kind: "regex", value: "^(.*)-seed\\d+" },
      statistic: "median-range",
      runSort: "started",
      runSortDown: true,
      compare: ["a", "b"],
    };
    expect({ ...DEFAULT_VIEW, ...parseHash(formatHash(view)) }).toEqual(view);
  });

  test("a metric can be the x axis", () => {
    const hash = formatHash({ ...DEFAULT_VIEW, tab: "scalars", x: "tag:train/tokens & more" });
    expect(hash).toBe("#scalars&x=tag:train/tokens%20%26%20more");
    expect(parseHash(hash).x).toBe("tag:train/tokens & more");
    expect(parseHash("#scalars&x=tag:").x).toBeUndefined();
  });

  test("the default view is only its tab", () => {
    expect(formatHash({ ...DEFAULT_VIEW, tab: "health" })).toBe("#health");
  });

  test("invalid parts are ignored", () => {
    expect(parseHash("#nonsense&smoothing=much&zoom=a,b&x=sideways&pinned={&%E0%A4%A")).toEqual({ pinned: [] });
    expect(parseHash("")).toEqual({});
  });

  test("smoothing is clamped", () => {
    expect(parseHash("#scalars&smoothing=7").smoothing).toBe(0.999);
    expect(parseHash("#scalars&smoothing=-1").smoothing).toBe(0);
  });
});
