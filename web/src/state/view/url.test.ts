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
      panels: [{ tags: ["train/loss", "val/loss"] }],
      baseline: "a/b",
      difference: true,
      steps: [100, 250],
      groupBy: { kind: "regex", value: "^(.*)-seed\\d+" },
      statistic: "median-range",
      runSort: "last_step",
      runSortDown: true,
      compare: ["a", "b"],
    };
    expect({ ...DEFAULT_VIEW, ...parseHash(formatHash(view)) }).toEqual(view);
  });

  test("cards of the user's own, and selected steps, survive it too", () => {
    const view: View = {
      ...DEFAULT_VIEW,
      tab: "scalars",
      steps: [7, 7],
      panels: [
        { tags: ["a", "=b - c"], title: "Gap & more", x: "tag:tokens", groupBy: { kind: "hparam", value: "lr" } },
        { text: "# Title\n\n* a" },
      ],
    };
    expect(formatHash(view)).toMatch(/&steps=7$/);
    expect({ ...DEFAULT_VIEW, ...parseHash(formatHash(view)) }).toEqual(view);
    expect(
      parseHash('#scalars&panels=[1,{},{"tags":[]},{"tags":["a"],"x":"tag:","groupBy":{"kind":"x"}}]').panels,
    ).toEqual([{ tags: ["a"] }]);
    expect(parseHash('#scalars&overlays=[["a","b"]]&steps=9,3')).toMatchObject({
      panels: [{ tags: ["a", "b"] }],
      steps: [3, 9],
    });
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
