// The width of text in a font, in CSS pixels.

let context: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();
const MAX_WIDTHS = 5000;

export function textWidth(text: string, font: string): number {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d")!;
    context.font = font;
    width = context.measureText(text).width;
    if (widths.size >= MAX_WIDTHS) widths.clear();
    widths.set(key, width);
  }
  return width;
}
