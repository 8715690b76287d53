import type { Chance } from './chance.ts'
import { band, circle, lighter, mix, shade, type PictureSize } from './svg.ts'

type Palette = readonly [string, string, string, string]

const palettes: readonly [Palette, ...Palette[]] = [
  ['#2b2d5b', '#f2a37c', '#c9627a', '#f7c548'],
  ['#12455e', '#a9dde6', '#5fb3b3', '#f28f5b'],
  ['#1f5b4a', '#fdf3d0', '#8cc084', '#f4a259'],
  ['#6d2e54', '#f8bcc8', '#e78fa5', '#f6bd60'],
  ['#3a2467', '#fbe4f0', '#9a7fd1', '#ff9f9f'],
  ['#7a3b2e', '#fbeedb', '#dd9b5d', '#3c8d93'],
  ['#0a0f24', '#4b5fa8', '#5a6fb3', '#8fd3d1'],
  ['#1f0a20', '#e8553f', '#b23a48', '#ffb04a'],
]

/** Draws rings with planets in the prompt's colours, completed with those of a palette. */
export function drawAbstract(
  { width, height }: PictureSize,
  named: readonly string[],
  chance: Chance,
): string {
  const short = Math.min(width, height)
  const palette = chance.pick(palettes)
  const [dark, pale] = [named[0] ?? palette[0], named[1] ?? named[0] ?? palette[1]]
  const far = named[2] ?? named[0] ?? palette[3]
  const colours = [dark, named[1] ?? palette[2], far] as const
  const shapes: string[] = []
  const ground = shade(shapes, [mix(dark, pale, 0.35), lighter(pale, 0.35)])
  shapes.push(band({ width }, [0, height], ground))
  const [x, y] = [width * chance.between(0.25, 0.75), height * chance.between(0.25, 0.6)]
  const reach = Math.min(Math.hypot(width, height) * 0.62, short * 1.5)
  const rings = chance.whole(6, 9)
  for (let ring = rings; ring > 0; ring -= 1) {
    const colour = colours[ring % 3]!
    const radius = (reach * ring) / rings
    shapes.push(circle(x, y, radius, shade(shapes, [lighter(colour, 0.3), colour])))
    if (ring % 2 === 1) continue
    const angle = chance.between(0, 2 * Math.PI)
    const planet = short * chance.between(0.025, 0.07)
    const [left, top] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]
    shapes.push(circle(left, top, planet, lighter(far, 0.2)))
  }
  return shapes.join('')
}
