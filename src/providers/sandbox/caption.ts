import type { OverlayOptions } from 'sharp'
import { loadSharp } from '../../bytes/load-sharp.ts'
import type { PictureSize } from './scene/svg.ts'

type Caption = {
  layers: OverlayOptions[]
  /** The height of the caption at the bottom of the picture, in pixels. */
  height: number
}

const smallestFont = 5
const widestLine = 40
const promptCharactersMax = 400
/** Lines of a long prompt, by the average width of a character. */
const linesMax = 5
const averageWidth = 0.7
/** The font of a prompt of so many lines at full size. */
const scales = [1, 1, 0.8] as const
const smallestScale = 0.64

/** Draws the prompt and a status line; nothing when the picture is too small for text. */
export async function drawCaption(
  prompt: string,
  seed: number,
  size: PictureSize,
): Promise<Caption> {
  const short = Math.min(size.width, size.height)
  const font = Math.max(short * 0.028, Math.min(11, short * 0.09))
  if (font < smallestFont) return { layers: [], height: 0 }
  const margin = Math.round(short * 0.03)
  const padding = Math.round(font * 0.6)
  const width = Math.floor(Math.min(size.width - margin * 2, font * widestLine)) - padding * 2
  const lineCharacters = width / (font * averageWidth)
  const shown = readable(prompt, (lineCharacters * linesMax) / smallestScale)
  const scale = scales[Math.floor(shown.length / lineCharacters)] ?? smallestScale
  const status = `sandbox · ${size.width}x${size.height} · seed ${seed}`
  const text =
    `<span foreground="#fff"><span size="${percent(scale)}">${escapeXml(shown)}</span>\n` +
    `<span size="62%" alpha="75%">${status}</span></span>`
  const sharp = await loadSharp()
  const written = sharp({
    text: { text, font: `DejaVu Sans Bold ${font}`, dpi: 72, width, wrap: 'word-char', rgba: true },
  }).resize({
    width,
    height: size.height - (margin + padding) * 2,
    fit: 'inside',
    withoutEnlargement: true,
  })
  const { data, info } = await written.raw().toBuffer({ resolveWithObject: true })
  const panel = { width: info.width + padding * 2, height: info.height + padding * 2 }
  const top = size.height - margin - panel.height
  const background = `<svg width="${panel.width}" height="${panel.height}"><rect width="100%" height="100%" rx="${font / 2}" fill="#10131f" fill-opacity="0.86"/></svg>`
  return {
    layers: [
      { input: Buffer.from(background), left: margin, top },
      { input: data, raw: { ...info, channels: 4 }, left: margin + padding, top: top + padding },
    ],
    height: panel.height + margin,
  }
}

function percent(scale: number): string {
  return `${Math.round(scale * 100)}%`
}

/** Characters of scripts and emoji that the font lacks and would show as boxes. */
const unprintable =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\u3000-\u303f\uff00-\uffef\p{Emoji_Presentation}\u{fe0f}]/gu

// Category C contains all characters that XML forbids: controls, lone surrogates and noncharacters.
function readable(prompt: string, most: number): string {
  const characters = Array.from(
    prompt
      .slice(0, promptCharactersMax * 4)
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/\p{C}/gu, '')
      .replaceAll(unprintable, '')
      .trim(),
  )
  const kept = characters.slice(0, Math.min(promptCharactersMax, most)).join('')
  return kept.length < characters.length ? `${kept}…` : kept
}

function escapeXml(content: string): string {
  return content.replaceAll(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
