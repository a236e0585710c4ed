// The current view as one HTML file that needs nothing else: pictures for canvases, styles within, no scripts.

import { fileName, escapeXml } from "../lib/download";
import { formatMoment } from "../lib/format";
import { app } from "../state/app.svelte";
import { save } from "./save";

const MOST_CARDS_MS = 8000;

/** Draw what is out of view too, then save the page's middle. */
export async function exportReport(): Promise<void> {
  app.exporting = true;
  app.say("Drawing the report…");
  const main = document.getElementById("main");
  if (!main) return;
  try {
    await settled(main);
    const body = await pictured(main);
    const now = formatMoment(Date.now() / 1000);
    const title = `${app.status?.title ?? "Pulseboard"}: ${app.view.tab ?? "scalars"}`;
    const html =
      `<!doctype html>\n<html lang="en" data-theme="${app.theme}"><head><meta charset="utf-8">` +
      `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeXml(title)}</title>` +
      `<style>${styles()}\nhtml,body{height:auto;overflow:auto}main{overflow:visible;max-width:1500px;margin:auto}` +
      `.report-head{padding:16px 16px 0}.chart img,.report-picture{max-width:100%}</style></head><body>` +
      `<header class="report-head"><h1>${escapeXml(title)}</h1><p class="dim">${escapeXml(now)} · ` +
      `<a href="${escapeXml(app.link())}">this view, live</a></p></header>${body}</body></html>`;
    save(fileName(title, "html"), html, "text/html");
    app.say("Report saved.");
  } catch (error) {
    app.complain(error);
  } finally {
    app.exporting = false;
  }
}

/** Wait until every card has its data, or patience ends. */
async function settled(main: HTMLElement): Promise<void> {
  const end = performance.now() + MOST_CARDS_MS;
  do {
    await new Promise((resolve) => setTimeout(resolve, 250));
  } while (main.querySelector("[data-waiting]") && performance.now() < end);
  await new Promise((resolve) => setTimeout(resolve, 200));
}

function styles(): string {
  const rules: string[] = [];
  for (const sheet of document.styleSheets) {
    try {
      for (const rule of sheet.cssRules) rules.push(rule.cssText);
    } catch {
      // A sheet of an extension; not ours.
    }
  }
  return rules.join("\n").replaceAll("</", "<\\/");
}

async function pictured(main: HTMLElement): Promise<string> {
  // In a document of its own, where nothing loads: the page's policy would forbid pictures that are written out.
  const apart = document.implementation.createHTMLDocument("");
  const copy = apart.importNode(main, true);
  const canvases = [...main.querySelectorAll("canvas")];
  [...copy.querySelectorAll("canvas")].forEach((canvas, i) => {
    const source = canvases[i]!;
    if (source.width === 0 || source.height === 0) return canvas.remove();
    const picture = apart.createElement("img");
    picture.src = source.toDataURL("image/png");
    picture.width = source.clientWidth;
    picture.height = source.clientHeight;
    picture.alt = source.closest("[aria-label]")?.getAttribute("aria-label") ?? "";
    picture.className = "report-picture";
    return canvas.replaceWith(picture);
  });
  await Promise.all(
    [...copy.querySelectorAll<HTMLImageElement>("img[src]:not([src^='data:'])")].map(async (picture) => {
      try {
        const address = new URL(picture.getAttribute("src")!, location.href);
        picture.src = await dataUrl(await (await fetch(address)).blob());
      } catch {
        picture.remove();
      }
    }),
  );
  for (const element of copy.querySelectorAll(
    "script, button.icon-button, button.button, .segments, label:has(input, select), .u-over, .u-under, .u-legend, input, select, textarea, audio, [data-no-report], .skeleton",
  )) {
    element.remove();
  }
  // What only shows something stays, but not as a button that does nothing.
  for (const button of copy.querySelectorAll("button")) {
    const plain = apart.createElement("span");
    plain.className = button.className;
    plain.append(...button.childNodes);
    button.replaceWith(plain);
  }
  for (const element of copy.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (name.startsWith("on")) element.removeAttribute(name);
  }
  return copy.outerHTML;
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("The picture could not be read."));
    reader.readAsDataURL(blob);
  });
}
