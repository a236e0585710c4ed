import { describe, expect, test } from "vitest";
import { makeCurve, readColumns } from "./columns";

/** A response as the server encodes it: a header, then blocks that each start at a multiple of eight bytes. */
function encode(
  series: { about: object; columns: Record<string, { type: "f8" | "f4" | "u4" | "u1"; values: number[] }> }[],
): ArrayBuffer {
  const blocks: Uint8Array[] = [];
  let at = 0;
  const described = series.map(({ about, columns }) => {
    const places: Record<string, unknown> = {};
    for (const [name, { type, values }] of Object.entries(columns)) {
      const array =
        type === "f8"
          ? Float64Array.from(values)
          : type === "f4"
            ? Float32Array.from(values)
            : type === "u4"
              ? Uint32Array.from(values)
              : Uint8Array.from(values);
      places[name] = [at, values.length, type];
      const padded = new Uint8Array(Math.ceil(array.byteLength / 8) * 8);
      padded.set(new Uint8Array(array.buffer));
      blocks.push(padded);
      at += padded.length;
    }
    return { ...about, columns: places };
  });
  const header = new TextEncoder().encode(JSON.stringify({ revision: 7, series: described }));
  const start = Math.ceil((8 + header.length) / 8) * 8;
  const out = new Uint8Array(start + at);
  out.set(new TextEncoder().encode("PBC1"));
  new DataView(out.buffer).setUint32(4, header.length, true);
  out.set(header, 8);
  let offset = start;
  for (const block of blocks) {
    out.set(block, offset);
    offset += block.length;
  }
  return out.buffer;
}

describe("binary columns", () => {
  test("points and names are decoded exactly", () => {
    const buffer = encode([
      {
        about: { run: "a<b>🦊", tag: "loss", points: 2, exact: true, nan: 1, inf: 0 },
        columns: { x: { type: "f8", values: [1, 2 ** 53] }, y: { type: "f4", values: [0.5, NaN] } },
      },
    ]);
    const { revision, curves } = readColumns(buffer);
    expect(revision).toBe(7);
    expect(curves[0]!.run).toBe("a<b>🦊");
    expect([...curves[0]!.x]).toEqual([1, 2 ** 53]);
    expect([...curves[0]!.y]).toEqual([0.5, NaN]);
    expect(curves[0]!.exact).toBe(true);
  });

  test("pixel columns keep their min and max", () => {
    const column = (values: number[]) => ({ type: "f8" as const, values });
    const buffer = encode([
      {
        about: { run: "r", tag: "t", points: 1000, exact: false, nan: 3, inf: 0 },
        columns: {
          x: column([0, 10]),
          first: column([1, 2]),
          min: column([0, 1]),
          max: column([9, 3]),
          last: column([2, 2]),
          nan: { type: "u4", values: [0, 3] },
        },
      },
    ]);
    const curve = readColumns(buffer).curves[0]!;
    expect(curve.exact).toBe(false);
    expect([...curve.max]).toEqual([9, 3]);
    expect([...(curve.nanCounts as Uint32Array)]).toEqual([0, 3]);
  });

  test("orphaned rows become a separate curve", () => {
    const buffer = encode([
      {
        about: { run: "r", tag: "t", points: 4, exact: true, nan: 0, inf: 0 },
        columns: {
          x: { type: "f8", values: [0, 1, 2, 1] },
          y: { type: "f8", values: [5, 4, 3, 9] },
          orphan: { type: "u1", values: [0, 0, 0, 1] },
        },
      },
    ]);
    const curve = readColumns(buffer).curves[0]!;
    expect([...curve.y]).toEqual([5, 4, 3]);
    expect([...curve.orphans!.y]).toEqual([9]);
  });

  test("anything else is rejected with a clear message", () => {
    expect(() => readColumns(new TextEncoder().encode("<html>.....").buffer as ArrayBuffer)).toThrow(/PBC1/);
  });

  test("a curve made from points counts NaN and infinities", () => {
    const curve = makeCurve("r", "t", [0, 1, 2], [NaN, Infinity, 1]);
    expect([curve.nan, curve.inf]).toEqual([1, 1]);
  });
});
