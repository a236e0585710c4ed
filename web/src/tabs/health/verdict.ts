// The verdict on a run: what is wrong, since when, what it cost, the likely cause, and what to do next.

import type { Incident } from "../../api/types";
import { formatPercent, withThousands } from "../../ui/text/format";
import { splitInlineCode } from "../../ui/text/inline_code";
import { slugToTitle, slugToWords } from "../../ui/text/slug";
import type { RunHealth } from "./run_health";

export interface Verdict {
  headline: string;
  /** Since when, what it cost, and the likely cause, as short phrases. */
  facts: string[];
  /** What to do next; null if there is nothing to do. */
  next: string | null;
  /** Why to do it. */
  why: string;
}

/** The verdict on a run; null while it is not diagnosed. */
export function verdictOf(health: RunHealth): Verdict | null {
  const { report, incidents, lead, status } = health;
  if (report === null) return null;
  const incident = incidents[0];
  if (incident) {
    const cause = incident.causes[0];
    return {
      headline: incident.headline,
      facts: [
        ...whenText(incident, lead?.first_step ?? null),
        ...(incident.cost.value > 0 ? [`${formatPercent(incident.cost.value)} of the run`] : []),
        ...(cause ? [causeText(cause.slug, cause.probability)] : []),
        ...(incidents.length > 1 ? [`also: ${lowerFirst(incidents[1]!.headline)}`] : []),
      ],
      next: incident.next_check?.do ?? lead?.checks[0] ?? incident.fixes[0] ?? null,
      why: plainWords(incident.next_check?.why ?? "", [...incident.causes, ...report.causes]),
    };
  }
  const { ran, enable } = report.coverage;
  if (status === "unknown") {
    const line = enable[0];
    return {
      headline: "Too little was logged to judge this run",
      facts: [],
      next: line ? `Log \`${line.log}\`` : null,
      why: line ? `Enables ${line.checks} more checks.` : "",
    };
  }
  if (lead) return { headline: lead.summary, facts: [], next: lead.checks[0] ?? null, why: "" };
  return { headline: `Nothing found by the ${ran} checks that ran`, facts: [], next: null, why: "" };
}

/** When the problem was there. Most headlines say when its main finding began; another one may have begun before. */
function whenText({ headline, first_step, last_step, open }: Incident, leadStep: number | null): string[] {
  const [from, to] = [withThousands(first_step), withThousands(last_step)];
  if (/ step \d/.test(headline)) {
    const sign = leadStep !== null && first_step < leadStep ? [`first sign at step ${from}`] : [];
    return open || from === to ? sign : [...sign, `until step ${to}`];
  }
  if (open) return [`since step ${from}`];
  return [from === to ? `at step ${from}` : `steps ${from} to ${to}`];
}

/** A cause below one half is only the best guess. */
function causeText(slug: string, probability: number): string {
  const percent = formatPercent(probability);
  return probability >= 0.5
    ? `likely cause: ${slugToWords(slug)} (${percent})`
    : `perhaps ${slugToWords(slug)} (${percent})`;
}

/** A sentence with the slugs of causes as words. */
function plainWords(sentence: string, causes: { slug: string }[]): string {
  let text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  for (const { slug } of causes) text = text.replaceAll(slug, slugToWords(slug));
  return text;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

export type Action =
  { kind: "draw"; tags: string[] } | { kind: "guide"; slug: string; title: string } | { kind: "copy"; text: string };

/** What the button of a check does: draws the tags that the check names, opens a guide, or copies the command. */
export function actionOf(check: string, isTag: (name: string) => boolean, isGuide: (slug: string) => boolean): Action {
  const code = splitInlineCode(check)
    .filter((part) => part.code)
    .map((part) => part.text);
  const tags = code.filter(isTag);
  if (tags.length > 0) return { kind: "draw", tags };
  const slug = code.find(isGuide);
  if (slug) return { kind: "guide", slug, title: slugToTitle(slug) };
  return { kind: "copy", text: code.length === 1 ? code[0]! : check };
}
