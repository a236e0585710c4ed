import { describe, expect, test } from "vitest";
import { curveOf } from "./columns";
import { csvField, curvesToCsv, curvesToJson, escapeXml, fileName, ticksOf, toSvg } from "./download";

const curves = [curveOf('a,"b"', "train/loss", [0, 1], [0.1, NaN])];

describe("a card as a file", () => {
  test("CSV quotes names and spells NaN", () => {
    expect(curvesToCsv(curves, "step").split("\n").slice(0, 3)).toEqual([
      "run,tag,step,value,min,max,smoothed",
      '"a,""b""",train/loss,0,0.1,0.1,0.1,',
      '"a,""b""",train/loss,1,nan,nan,nan,',
    ]);
    expect(csvField("plain")).toBe("plain");
  });

  test("JSON is JSON, whatever the values", () => {
    expect(JSON.parse(curvesToJson(curves, "step"))[0]).toMatchObject({ run: 'a,"b"', step: [0, 1], value: [0.1, "nan"] });
  });

  test("SVG carries hostile names as text", () => {
    const svg = toSvg({
      title: "<script>alert(1)</script>",
      x: [0, 1],
      y: [0, 1],
      logX: false,
      logY: false,
      kind: "step",
      smoothed: false,
      lines: [{ label: "<b>", colour: "#123456", curve: curves[0]! }],
      text: "#000",
      ground: "#fff",
      grid: "#eee",
    });
    expect(svg).not.toContain("<script>");
    expect(svg).toContain("&#60;script&#62;");
  });

  test("file names are tame", () => {
    expect(fileName("train/loss: a b", "csv")).toBe("train_loss_a_b.csv");
    expect(fileName("///", "csv")).toBe("chart.csv");
    expect(escapeXml('a"&<')).toBe("a&#34;&#38;&#60;");
  });

  test("ticks are round and within", () => {
    expect(ticksOf([0, 10], false, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticksOf([1, 1000], true, 5)).toEqual([1, 10, 100, 1000]);
  });
});
