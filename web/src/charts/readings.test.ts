import { describe, expect, test } from "vitest";
import { makeCurve } from "../api/columns";
import { readCurves, sortReadings } from "./readings";

const line = (key: string, x: number[], y: number[]) => ({
  key,
  label: key,
  color: "#000000",
  curve: makeCurve(key, "t", x, y),
});

describe("readings under the pointer", () => {
  test("a run that ended long before is left out", () => {
    const readings = readCurves([line("short", [0, 1], [1, 1]), line("long", [0, 100], [2, 3])], 90, 2);
    expect(readings.map((reading) => reading.key)).toEqual(["long"]);
    expect(readings[0]!.value).toBe(3);
  });

  test("the nearest value comes first, NaN last", () => {
    const readings = readCurves([line("a", [0], [NaN]), line("b", [0], [5]), line("c", [0], [1])], 0, 1);
    expect(sortReadings(readings, "nearest", 1.2).map((reading) => reading.key)).toEqual(["c", "b", "a"]);
    expect(sortReadings(readings, "value", 0).map((reading) => reading.key)).toEqual(["a", "b", "c"]);
    expect(sortReadings(readings, "name", 0).map((reading) => reading.key)).toEqual(["a", "b", "c"]);
  });
});
