import { describe, expect, test } from "vitest";
import { curveOf, type Curve } from "./columns";
import { badPoints, lowerBound, strokeRaw, strokeValues, visible } from "./path";

class Recorder {
  strokes: number[][][] = [];
  moveTo(x: number, y: number): void {
    this.strokes.push([[x, y]]);
  }
  lineTo(x: number, y: number): void {
    this.strokes[this.strokes.length - 1]!.push([x, y]);
  }
}

const plain = { x: (v: number) => v, y: (v: number) => v };

function bucketed(x: number[], first: number[], min: number[], max: number[], last: number[]): Curve {
  return {
    ...curveOf("r", "t", x, last),
    exact: false,
    first: Float64Array.from(first),
    min: Float64Array.from(min),
    max: Float64Array.from(max),
    last: Float64Array.from(last),
  };
}

describe("drawing a curve", () => {
  test("points are joined in order", () => {
    const pen = new Recorder();
    expect(strokeRaw(pen, curveOf("r", "t", [0, 1, 2], [5, 6, 7]), plain, 0, 2)).toEqual([]);
    expect(pen.strokes).toEqual([[[0, 5], [1, 6], [2, 7]]]);
  });

  test("NaN breaks the line, and a point left alone is a dot", () => {
    const pen = new Recorder();
    const dots = strokeRaw(pen, curveOf("r", "t", [0, 1, 2, 3, 4], [1, 2, NaN, 4, NaN]), plain, 0, 4);
    expect(pen.strokes).toEqual([[[0, 1], [1, 2]]]);
    expect(dots).toEqual([[3, 4]]);
  });

  test("a single point is a dot", () => {
    expect(strokeRaw(new Recorder(), curveOf("r", "t", [3], [4]), plain, 0, 9)).toEqual([[3, 4]]);
  });

  test("a spike within a column is drawn to its full height", () => {
    const pen = new Recorder();
    strokeRaw(pen, bucketed([0, 1], [1, 1], [1, 0], [1, 99], [1, 1]), plain, 0, 1);
    expect(pen.strokes[0]).toContainEqual([1, 99]);
    expect(pen.strokes[0]).toContainEqual([1, 0]);
    expect(pen.strokes[0]!.at(-1)).toEqual([1, 1]);
  });

  test("a column without finite values is a gap", () => {
    const pen = new Recorder();
    strokeRaw(pen, bucketed([0, 1, 2, 3, 4], [1, 1, NaN, 1, 1], [1, 1, NaN, 1, 1], [1, 2, NaN, 1, 2], [1, 1, NaN, 1, 1]), plain, 0, 4);
    expect(pen.strokes.length).toBe(2);
  });

  test("only what is in view is visited, with one neighbour on each side", () => {
    expect(visible([0, 10, 20, 30, 40], 15, 25)).toEqual([1, 4]);
    expect(lowerBound([0, 10, 20], 10)).toBe(1);
    expect(lowerBound([], 10)).toBe(0);
  });

  test("a smoothed curve goes around NaN", () => {
    const pen = new Recorder();
    strokeValues(pen, [0, 1, 2, 3, 4], [1, 2, NaN, 4, 5], plain, 0, 4);
    expect(pen.strokes.length).toBe(2);
  });
});

describe("what is not finite", () => {
  test("NaN and both infinities are found with their places", () => {
    const curve = curveOf("r", "t", [0, 1, 2, 3], [NaN, Infinity, -Infinity, 1]);
    expect(badPoints(curve, 0, 3)).toEqual([
      { x: 0, kind: "nan" },
      { x: 1, kind: "inf" },
      { x: 2, kind: "-inf" },
    ]);
  });

  test("a column of many points says which ways its infinities went", () => {
    const curve = { ...curveOf("r", "t", [0, 3], [1, 1]), exact: false, inf: 3, nan: 2, plusInfCounts: [0, 1], minusInfCounts: [2, 1], nanCounts: [2, 0] };
    expect(badPoints(curve, 0, 3)).toEqual([
      { x: 0, kind: "nan" },
      { x: 0, kind: "-inf" },
      { x: 3, kind: "inf" },
      { x: 3, kind: "-inf" },
    ]);
  });

  test("what lies out of view is left out", () => {
    expect(badPoints(curveOf("r", "t", [0, 1, 2], [NaN, 1, 1]), 1, 2)).toEqual([]);
  });
});
