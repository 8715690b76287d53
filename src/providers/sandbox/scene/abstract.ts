import { markupOf, shade, steps, type Stage } from './stage.ts'
import { circle, hillPath, lighter, mix, path, rect } from './svg.ts'

type Palette = readonly [string, string, string, string]
type Colours = readonly [string, ...string[]]

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

/** Draws an abstract picture in the prompt's colours, completed with those of a palette. */
export function drawAbstract(stage: Stage, named: readonly string[]): string {
  const { width, height, shapes, chance } = stage
  const palette = chance.pick(palettes)
  const [dark, pale] = [named[0] ?? palette[0], named[1] ?? named[0] ?? palette[1]]
  const [near, far] = [named[1] ?? palette[2], named[2] ?? named[0] ?? palette[3]]
  const ground = shade(stage, [mix(dark, pale, 0.35), lighter(pale, 0.35)])
  shapes.push(rect(0, 0, [width, height], ground))
  chance.pick([drawDunes, drawRings])(stage, [dark, near, far])
  return markupOf(stage)
}

function drawDunes(stage: Stage, colours: Colours): void {
  const { width, height, short, shapes, chance } = stage
  const sun = { x: width * chance.between(0.2, 0.8), y: height * chance.between(0.16, 0.36) }
  const light = lighter(colours.at(-1)!, 0.4)
  for (const [scale, opacity] of [
    [2.6, 0.16],
    [1.7, 0.28],
    [1, 1],
  ] as const) {
    shapes.push(circle(sun.x, sun.y, short * 0.1 * scale, light, opacity))
  }
  const first = chance.whole(0, 3)
  for (let layer = 0; layer < 5; layer += 1) {
    const points = steps(stage, short * 0.5).map((x) => ({
      x,
      y: height * (0.46 + 0.1 * layer) + short * chance.between(-0.13, 0.13),
    }))
    const colour = mix(
      colours[(first + layer) % colours.length] ?? colours[0],
      colours[0],
      layer / 5,
    )
    const fill = shade(stage, [lighter(colour, 0.18), colour])
    shapes.push(path(hillPath(points, height), fill))
  }
}

function drawRings(stage: Stage, colours: Colours): void {
  const { width, height, short, shapes, chance } = stage
  const [x, y] = [width * chance.between(0.25, 0.75), height * chance.between(0.25, 0.6)]
  const reach = Math.min(Math.hypot(width, height) * 0.62, short * 1.5)
  const rings = chance.whole(6, 9)
  for (let ring = rings; ring > 0; ring -= 1) {
    const colour = colours[ring % colours.length] ?? colours[0]
    const radius = (reach * ring) / rings
    shapes.push(circle(x, y, radius, shade(stage, [lighter(colour, 0.3), colour])))
    if (ring % 2 === 1) continue
    const angle = chance.between(0, 2 * Math.PI)
    const planet = short * chance.between(0.025, 0.07)
    const [left, top] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]
    shapes.push(circle(left, top, planet, lighter(colours.at(-1)!, 0.2)))
  }
}
