// Color arithmetic.

/** Adds an alpha channel to `#rrggbb`. */
export function withAlpha(hex: string, alpha: number): string {
  const value = Math.round(Math.max(0, Math.min(1, alpha)) * 255);
  return hex.length === 7 ? hex + value.toString(16).padStart(2, "0") : hex;
}

/** Writes a color of three hex digits with six, because the build shortens colors in style sheets. */
export function longHex(color: string): string {
  return /^#[0-9a-f]{3}$/i.test(color) ? "#" + [...color.slice(1)].map((digit) => digit + digit).join("") : color;
}

/** The color at a position from 0 to 1 of a scale of colors. */
export function colorOnScale(colors: string[], position: number): string {
  const at = Math.max(0, Math.min(1, position)) * (colors.length - 1);
  const [from, to] = [colors[Math.floor(at)]!, colors[Math.ceil(at)]!].map(channels) as [number[], number[]];
  const mixed = from.map((value, i) => Math.round(value + (to[i]! - value) * (at % 1)));
  return "#" + mixed.map((value) => value.toString(16).padStart(2, "0")).join("");
}

/** Red, green and blue of `#rrggbb`, from 0 to 255. */
export function channels(hex: string): number[] {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** The WCAG contrast ratio of two colors, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [lighter, darker] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = channels(hex).map((channel) => {
    const c = channel / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
