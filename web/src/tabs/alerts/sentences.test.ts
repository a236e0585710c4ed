import { expect, test } from "vitest";
import { NEW_RULE, otherTexts, whatText, whereText } from "./sentences";

test("a rule without limits is about every warning, and goes everywhere", () => {
  expect([whatText(NEW_RULE), whereText(NEW_RULE), otherTexts(NEW_RULE)]).toEqual([
    "Warning and worse",
    "to every destination",
    [],
  ]);
});

test("everything that a rule states is said", () => {
  const rule = {
    ...NEW_RULE,
    severity: "critical" as const,
    findings: ["loss-nan", "lr-jump", "stuck"],
    to: ["team", "pager"],
    quiet: "22:00-07:00",
    stalled_secs: 900,
    ended: true,
  };
  expect(whatText(rule)).toBe("Critical, only loss NaN, LR jump or stuck");
  expect(whereText(rule)).toBe("to team and pager");
  expect(otherTexts(rule)).toEqual([
    "also if nothing is logged for 15m",
    "also when a run ends",
    "quiet from 22:00 to 07:00",
  ]);
});
