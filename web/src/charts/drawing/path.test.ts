import { describe, expect, test } from "vitest";
import { makeCurve, type Curve } from "../../api/columns";
import { findNonFinite, strokeRaw, strokeValues } from "./path";

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
    ...makeCurve("r", "t", x, last),
    exact: false,
    first: Float64Array.from(first),
    min: Float64Array.from(min),
    max: Float64Array.from(max),
    last: Float64Array.from(last),
  };
}

describe("drawing a curve", () => {
  test("points are connected in order", () => {
    const pen = new Recorder();
    expect(strokeRaw(pen, makeCurve("r", "t", [0, 1, 2], [5, 6, 7]), plain, 0, 2)).toEqual([]);
    expect(pen.strokes).toEqual([
      [
        [0, 5],
        [1, 6],
        [2, 7],
      ],
    ]);
  });

  test("NaN breaks the line, and an isolated point is a dot", () => {
    const pen = new Recorder();
    const dots = strokeRaw(pen, makeCurve("r", "t", [0, 1, 2, 3, 4], [1, 2, NaN, 4, NaN]), plain, 0, 4);
    expect(pen.strokes).toEqual([
      [
        [0, 1],
        [1, 2],
      ],
    ]);
    expect(dots).toEqual([[3, 4]]);
  });

  test("a single point is a dot", () => {
    expect(strokeRaw(new Recorder(), makeCurve("r", "t", [3], [4]), plain, 0, 9)).toEqual([[3, 4]]);
  });

  test("several points on one pixel are a dot, and a line of a few pixels is not", () => {
    const same = makeCurve("r", "t", [0, 0], [4, 4]);
    expect(strokeRaw(new Recorder(), same, plain, 0, 9)).toEqual([[0, 4]]);
    expect(strokeValues(new Recorder(), same.x, same.y, plain, 0, 9)).toEqual([[0, 4]]);
    expect(strokeRaw(new Recorder(), makeCurve("r", "t", [0, 0], [4, 7]), plain, 0, 9)).toEqual([]);
    expect(strokeRaw(new Recorder(), makeCurve("r", "t", [0, 2], [4, 4]), plain, 0, 9)).toEqual([]);
    const tenth = { x: (v: number) => v / 10, y: (v: number) => v / 10 };
    expect(strokeRaw(new Recorder(), makeCurve("r", "t", [0, 5, 9], [4, 5, 6]), tenth, 0, 9)).toEqual([[0.9, 0.6]]);
    expect(strokeRaw(new Recorder(), bucketed([3], [4], [4], [4], [4]), plain, 0, 9)).toEqual([[3, 4]]);
  });

  test("a spike within a pixel column is drawn at full height", () => {
    const pen = new Recorder();
    strokeRaw(pen, bucketed([0, 1], [1, 1], [1, 0], [1, 99], [1, 1]), plain, 0, 1);
    expect(pen.strokes[0]).toContainEqual([1, 99]);
    expect(pen.strokes[0]).toContainEqual([1, 0]);
    expect(pen.strokes[0]!.at(-1)).toEqual([1, 1]);
  });

  test("a pixel column without finite values is a gap", () => {
    const pen = new Recorder();
    strokeRaw(
      pen,
      bucketed([0, 1, 2, 3, 4], [1, 1, NaN, 1, 1], [1, 1, NaN, 1, 1], [1, 2, NaN, 1, 2], [1, 1, NaN, 1, 1]),
      plain,
      0,
      4,
    );
    expect(pen.strokes.length).toBe(2);
  });

  test("NaN breaks a smoothed curve", () => {
    const pen = new Recorder();
    strokeValues(pen, [0, 1, 2, 3, 4], [1, 2, NaN, 4, 5], plain, 0, 4);
    expect(pen.strokes.length).toBe(2);
  });
});

describe("values that are not finite", () => {
  test("NaN and both infinities are found with their x", () => {
    const curve = makeCurve("r", "t", [0, 1, 2, 3], [NaN, Infinity, -Infinity, 1]);
    expect(findNonFinite(curve, 0, 3)).toEqual([
      { x: 0, kind: "nan" },
      { x: 1, kind: "inf" },
      { x: 2, kind: "-inf" },
    ]);
  });

  test("a pixel column keeps the signs of its infinities", () => {
    const curve = {
      ...makeCurve("r", "t", [0, 3], [1, 1]),
      exact: false,
      inf: 3,
      nan: 2,
      plusInfCounts: [0, 1],
      minusInfCounts: [2, 1],
      nanCounts: [2, 0],
    };
    expect(findNonFinite(curve, 0, 3)).toEqual([
      { x: 0, kind: "nan" },
      { x: 0, kind: "-inf" },
      { x: 3, kind: "inf" },
      { x: 3, kind: "-inf" },
    ]);
  });

  test("points outside the range are left out", () => {
    expect(findNonFinite(makeCurve("r", "t", [0, 1, 2], [NaN, 1, 1]), 1, 2)).toEqual([]);
  });
});
