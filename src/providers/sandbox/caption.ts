import { round, type PictureSize } from './scene/svg.ts'

export type Caption = {
  markup: string
  /** The height of the caption at the bottom of the picture, in pixels. */
  height: number
}

const longestPrompt = 400
const smallestFont = 5
const widestLine = 40
const lineHeight = 1.28
const statusScale = 0.62

/** Font sizes to try until the whole prompt fits; at the smallest, an ellipsis truncates the prompt. */
const settings = [
  { scale: 1, lines: 2 },
  { scale: 0.8, lines: 3 },
  { scale: 0.64, lines: 5 },
]

/** Advance widths of DejaVu Sans Bold, hundredths of the font size, from space to tilde. */
const advances = [
  35, 46, 52, 84, 70, 100, 87, 31, 46, 46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70,
  70, 70, 40, 40, 84, 84, 84, 58, 100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85,
  73, 85, 77, 72, 68, 81, 77, 110, 77, 72, 73, 46, 37, 46, 84, 50, 50, 67, 72, 59, 72, 68, 44, 72,
  71, 34, 34, 67, 34, 104, 71, 69, 72, 72, 49, 60, 48, 71, 65, 92, 65, 65, 58, 71, 37, 71, 84,
]

/** Draws the prompt and a status line as SVG; empty when the picture is too small for text. */
export function drawCaption(prompt: string, seed: number, size: PictureSize): Caption {
  const short = Math.min(size.width, size.height)
  const font = Math.max(short * 0.028, Math.min(11, short * 0.09))
  if (font < smallestFont) return { markup: '', height: 0 }
  const margin = Math.round(short * 0.03)
  const padding = font * 0.6
  const textWidth = Math.min(size.width - margin * 2, font * widestLine) - padding * 2
  const { lines, lineFont } = fitPrompt(readable(prompt), font, textWidth)
  const status = `sandbox · ${size.width}x${size.height} · seed ${seed}`
  const statusFont = Math.min(font * statusScale, textWidth / measure(status))
  const widest = Math.max(
    ...lines.map((line) => measure(line) * lineFont),
    measure(status) * statusFont,
  )
  const panelWidth = Math.ceil(Math.min(widest, textWidth) + padding * 2)
  const promptHeight = lines.length * lineFont * lineHeight
  const panelHeight = Math.ceil(promptHeight + statusFont * lineHeight + padding * 1.5)
  const top = size.height - margin - panelHeight
  const texts = lines.map((line, index) =>
    drawText(line, padding, padding * 0.6 + lineFont * (0.95 + index * lineHeight), lineFont, 1),
  )
  texts.push(drawText(status, padding, panelHeight - padding * 0.85, statusFont, 0.75))
  const markup =
    `<svg x="${margin}" y="${top}" width="${panelWidth}" height="${panelHeight}">` +
    `<rect width="${panelWidth}" height="${panelHeight}" rx="${round(font * 0.5)}"` +
    ` fill="#10131f" fill-opacity="0.86"/>` +
    `<g font-family="DejaVu Sans" font-weight="bold" fill="#fff">${texts.join('')}</g></svg>`
  return { markup, height: panelHeight + margin }
}

function fitPrompt(prompt: string, font: number, width: number) {
  const lineFont = font * 0.64
  for (const { scale, lines } of settings) {
    const wrapped = wrap(prompt, width / (font * scale))
    if (wrapped.length <= lines) return { lines: wrapped, lineFont: font * scale }
  }
  return { lines: shorten(wrap(prompt, width / lineFont), 5, width / lineFont), lineFont }
}

/** Characters of scripts and emoji that the font lacks and would show as boxes. */
const unprintable =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\u3000-\u303f\uff00-\uffef\p{Emoji_Presentation}\u{fe0f}]/gu

// Category C contains all characters that XML forbids: controls, lone surrogates and noncharacters.
function readable(prompt: string): string {
  const text = prompt
    .slice(0, longestPrompt * 4)
    .replace(/\s+/g, ' ')
    .replace(/\p{C}/gu, '')
    .replace(unprintable, '')
    .trim()
  const characters = Array.from(text)
  const cut = prompt.length > longestPrompt * 4 || characters.length > longestPrompt
  return cut ? `${characters.slice(0, longestPrompt).join('')}…` : text
}

function wrap(prompt: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of prompt.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`
    if (measure(joined) <= width) {
      line = joined
      continue
    }
    if (line !== '') lines.push(line)
    line = ''
    for (const character of word) {
      if (line !== '' && measure(line + character) > width) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  if (line !== '') lines.push(line)
  return lines
}

function shorten(lines: string[], most: number, width: number): string[] {
  const kept = lines.slice(0, most)
  const last = Array.from(kept.pop() ?? '')
  while (last.length > 0 && measure(`${last.join('')}…`) > width) last.pop()
  return [...kept, `${last.join('').trimEnd()}…`]
}

// Overestimates beyond ASCII, so that lines in other scripts wrap early instead of being cut off.
function measure(text: string): number {
  let width = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const advance = advances[code - 32]
    if (advance !== undefined) width += advance / 100
    else if (!/\p{M}/u.test(character)) width += code < 0x2e80 ? 0.8 : 1.05
  }
  return width
}

function drawText(content: string, x: number, y: number, font: number, opacity: number): string {
  const place = `x="${round(x)}" y="${round(y)}" font-size="${round(font)}"`
  return `<text ${place} fill-opacity="${opacity}">${escapeXml(content)}</text>`
}

function escapeXml(content: string): string {
  return content.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
