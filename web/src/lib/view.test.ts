import { describe, expect, test } from "vitest";
import { DEFAULT_VIEW, formatHash, parseHash, type View } from "./view";

describe("the view in the address", () => {
  test("TensorBoard's forms are understood", () => {
    expect(parseHash("#scalars&regexInput=baseline&smoothing=0.8")).toEqual({ tab: "scalars", runFilter: "baseline", smoothing: 0.8 });
    expect(parseHash("#timeseries&tagFilter=loss&_smoothingWeight=0.3&_ignoreYOutliers=true")).toEqual({
      tab: "timeseries",
      tagFilter: "loss",
      smoothing: 0.3,
      ignoreOutliers: true,
    });
    expect(parseHash('#timeseries&pinnedCards=[{"plugin":"scalars","tag":"train/loss"}]').pinned).toEqual(["train/loss"]);
    expect(parseHash("#graphs").tab).toBe("graph");
    const state = btoa(JSON.stringify({ a: true, b: false }));
    expect(parseHash(`#scalars&runSelectionState=${encodeURIComponent(state)}`).selection).toEqual({ except: ["b"] });
  });

  test("what is written is read back", () => {
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

  test("a view as it is by default is only its tab", () => {
    expect(formatHash({ ...DEFAULT_VIEW, tab: "health" })).toBe("#health");
  });

  test("nonsense is passed over", () => {
    expect(parseHash("#nonsense&smoothing=much&zoom=a,b&x=sideways&pinned={&%E0%A4%A")).toEqual({ pinned: [] });
    expect(parseHash("")).toEqual({});
  });

  test("smoothing stays within its reach", () => {
    expect(parseHash("#scalars&smoothing=7").smoothing).toBe(0.999);
    expect(parseHash("#scalars&smoothing=-1").smoothing).toBe(0);
  });
});
