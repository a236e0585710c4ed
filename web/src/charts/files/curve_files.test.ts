import { expect, test } from "vitest";
import { makeCurve } from "../../api/columns";
import { csvField, curvesToCsv, curvesToJson } from "./curve_files";

const curves = [makeCurve('a,"b"', "train/loss", [0, 1], [0.1, NaN])];

test("CSV quotes names and writes NaN as nan", () => {
  expect(curvesToCsv(curves, "step").split("\n").slice(0, 3)).toEqual([
    "run,tag,step,value,min,max,smoothed",
    '"a,""b""",train/loss,0,0.1,0.1,0.1,',
    '"a,""b""",train/loss,1,nan,nan,nan,',
  ]);
  expect(csvField("plain")).toBe("plain");
});

test("JSON is valid even with NaN", () => {
  const [curve] = JSON.parse(curvesToJson(curves, "step")) as unknown[];
  expect(curve).toMatchObject({ run: 'a,"b"', step: [0, 1], value: [0.1, "nan"] });
});
