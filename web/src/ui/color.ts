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

/** The WCAG contrast ratio of two colors, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [lighter, darker] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Converts a color from the perceptual space OKLCH to `#rrggbb`. Chroma is reduced until sRGB can represent it. */
export function oklchToHex(lightness: number, chroma: number, hue: number): string {
  const angle = (hue * Math.PI) / 180;
  for (let c = chroma; ; c -= 0.01) {
    const rgb = oklabToLinear(lightness, c * Math.cos(angle), c * Math.sin(angle));
    if (c <= 0 || rgb.every((v) => v >= -0.0005 && v <= 1.0005)) {
      return "#" + rgb.map((v) => gammaByte(v).toString(16).padStart(2, "0")).join("");
    }
  }
}

function oklabToLinear(lightness: number, a: number, b: number): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function gammaByte(linear: number): number {
  const clipped = Math.max(0, Math.min(1, linear));
  const value = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
  return Math.round(value * 255);
}
