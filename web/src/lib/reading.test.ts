import { describe, expect, test } from "vitest";
import { curveOf } from "./columns";
import { nearestIndex, readingsAt, sortReadings } from "./reading";

const drawn = (key: string, x: number[], y: number[]) => ({ key, label: key, colour: "#000000", curve: curveOf(key, "t", x, y) });

describe("what is under the pointer", () => {
  test("the nearest entry is found, ties to the left", () => {
    expect([nearestIndex([0, 10, 20], 4), nearestIndex([0, 10, 20], 5), nearestIndex([0, 10, 20], 99), nearestIndex([], 1)]).toEqual([0, 0, 2, -1]);
  });

  test("a run that ended long before is left out", () => {
    const readings = readingsAt([drawn("short", [0, 1], [1, 1]), drawn("long", [0, 100], [2, 3])], 90, 2);
    expect(readings.map((reading) => reading.key)).toEqual(["long"]);
    expect(readings[0]!.value).toBe(3);
  });

  test("the nearest value comes first, NaN last", () => {
    const readings = readingsAt([drawn("a", [0], [NaN]), drawn("b", [0], [5]), drawn("c", [0], [1])], 0, 1);
    expect(sortReadings(readings, "nearest", 1.2).map((reading) => reading.key)).toEqual(["c", "b", "a"]);
    expect(sortReadings(readings, "value", 0).map((reading) => reading.key)).toEqual(["a", "b", "c"]);
    expect(sortReadings(readings, "name", 0).map((reading) => reading.key)).toEqual(["a", "b", "c"]);
  });
});
