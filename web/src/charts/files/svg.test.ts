import { expect, test } from "vitest";
import { makeCurve } from "../../api/columns";
import { chartToSvg, escapeXml } from "./svg";

test("names that look like code are escaped", () => {
  const svg = chartToSvg({
    title: "<script>alert(1)</script>",
    x: [0, 1],
    y: [0, 1],
    logX: false,
    logY: false,
    xAxis: "step",
    smoothed: false,
    lines: [{ label: "<b>", color: "#123456", curve: makeCurve("a", "train/loss", [0, 1], [0.1, NaN]) }],
    colors: { text: "#000", card: "#fff", grid: "#eee" },
  });
  expect(svg).not.toContain("<script>");
  expect(svg).toContain("&#60;script&#62;");
  expect(escapeXml('a"&<')).toBe("a&#34;&#38;&#60;");
});
