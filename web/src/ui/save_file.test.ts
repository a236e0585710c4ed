import { expect, test } from "vitest";
import { fileName } from "./save_file";

test("file names contain only letters, digits, dots, hyphens and underscores", () => {
  expect(fileName("train/loss: a b", "csv")).toBe("train_loss_a_b.csv");
  expect(fileName("///", "csv")).toBe("chart.csv");
});
