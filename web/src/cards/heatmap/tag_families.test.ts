import { expect, test } from "vitest";
import { familiesIn, memberTag } from "./tag_families";

const tags = (count: number, name: (i: number) => string) => Array.from({ length: count }, (_, i) => name(i));

test("tags that differ in one number are a family", () => {
  const layers = tags(12, (i) => `gradient_norm/layer_${i}`);
  expect(familiesIn(["train/loss", ...layers])).toEqual([{ pattern: "gradient_norm/layer_{i}", tags: layers }]);
});

test("few tags are not, and neither are tags that differ in more", () => {
  expect(familiesIn(tags(5, (i) => `gpu/${i}/memory`))).toEqual([]);
  expect(familiesIn(tags(9, (i) => `a${i}/b${i}`))).toEqual([]);
});

test("a tag with two numbers belongs to the larger family", () => {
  const heads = tags(3, (layer) => tags(8, (head) => `layer${layer}/head${head}`).join()).flatMap((row) =>
    row.split(","),
  );
  expect(familiesIn(heads).map((family) => family.pattern)).toEqual([
    "layer0/head{i}",
    "layer1/head{i}",
    "layer2/head{i}",
  ]);
});

test("ten thousand tags are sorted into families at once", () => {
  const many = tags(10_000, (i) => `gradient_norm/layer_${i}`);
  expect(familiesIn(many)[0]!.tags).toHaveLength(10_000);
  expect(memberTag("a{i}$&", "7")).toBe("a7$&");
});
