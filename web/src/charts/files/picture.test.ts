import { expect, test } from "vitest";
import { makeCurve } from "../../api/columns";
import type { ChartOptions, ChartState } from "../drawing/chart_options";
import { chartToSvg } from "./picture";
import { escapeXml } from "./svg_context";

const colors = {
  text: "#000000",
  card: "#ffffff",
  grid: "#eeeeee",
  ok: "#00ff00",
  info: "#0000ff",
  warning: "#ffff00",
  critical: "#ff0000",
};

function chart(lines: ChartOptions["lines"], more: Partial<ChartOptions> = {}): ChartState {
  const options: ChartOptions = {
    lines,
    x: "step",
    logX: false,
    logY: false,
    ignoreOutliers: false,
    smoothed: false,
    orphans: false,
    zoom: null,
    zoomY: null,
    shaded: [],
    bands: [],
    limits: [],
    restarts: [],
    selected: null,
    highlight: null,
    compact: false,
    wheelZooms: false,
    colors,
    ...more,
  };
  return { options, x: [0, 1], y: [0, 1], logX: false, logY: false };
}
const line = (label: string) => ({
  key: label,
  label,
  color: "#123456",
  curve: makeCurve("a", "train/loss", [0, 1], [0.1, NaN]),
});
const picture = { width: 900, height: 400, title: "t" };

test("names that look like code are escaped", () => {
  const svg = chartToSvg(chart([line("<b>")]), { ...picture, title: "<script>alert(1)</script>" });
  expect(svg).not.toContain("<script>");
  expect(svg).not.toContain("<b>");
  expect(svg).toContain("&#60;script&#62;");
  expect(escapeXml('a"&<')).toBe("a&#34;&#38;&#60;");
});

test("the legend names every curve, however many there are", () => {
  const names = Array.from({ length: 100 }, (_, i) => `run-${i}`);
  const svg = chartToSvg(chart(names.map(line)), picture);
  for (const name of names) expect(svg).toContain(`>${name}</text>`);
});

test("what is behind the curves is in the picture", () => {
  const shaded = [{ from: 0.2, to: 0.4, severity: "critical" as const }];
  expect(chartToSvg(chart([line("a")], { shaded }), picture)).toContain('fill="#ff0000"');
  expect(chartToSvg(chart([line("a")]), picture)).not.toContain('fill="#ff0000"');
});
