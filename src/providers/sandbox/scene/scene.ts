import { drawAbstract } from './abstract.ts'
import { chanceFrom } from './chance.ts'
import {
  drawHills,
  drawMountains,
  drawSea,
  drawShore,
  drawSky,
  drawTown,
  drawUnderwater,
} from './land.ts'
import { readPrompt, type Thing } from './read-prompt.ts'
import { markupOf, openStage, shade, type Stage } from './stage.ts'
import { ellipse, placed, rect, type PictureSize } from './svg.ts'
import { kinds, type Pen } from './things.ts'

type Request = PictureSize & {
  prompt: string
  seed: number
  /** The height of the caption at the bottom. */
  covered: number
}

/** The vertical range in which objects stand, from the far edge to the near edge. */
type Band = { top: number; bottom: number }

const drawnMax = 24
const washes = {
  day: ['#fff2b8', '#ffd070', 0.3],
  sunset: ['#5a3a80', '#ffb469', 0.46],
  night: ['#081034', '#2a356e', 0.62],
} as const

/** Draws the prompt's objects as SVG markup that fills the size, or else an abstract picture. */
export function drawScene({ prompt, seed, ...size }: Request): string {
  const chance = chanceFrom(prompt, seed)
  const { things, places, time, colours } = readPrompt(prompt)
  const stage = openStage({ ...size, chance, time: time ?? 'day' })
  if (things.length + places.size === 0 && time === undefined) return drawAbstract(stage, colours)
  const { horizon, base } = stage
  const swimming = things.filter(({ name }) => kinds[name].swims)
  const standing = things.filter(({ name }) => !kinds[name].swims)
  if (places.size === 0 && things.length > 0 && things.every(({ name }) => name === 'fish')) {
    drawUnderwater(stage)
    drawThings(stage, things, { top: 0, bottom: base })
    return markupOf(stage)
  }
  const lightX = drawSky(stage)
  const isOpen = places.size === 0 && chance.whole(0, 2) > 0
  if (places.has('mountains') || isOpen) drawMountains(stage)
  if (places.has('town')) drawTown(stage)
  if (!places.has('sea') && swimming.length === 0) {
    drawHills(stage)
    drawThings(stage, standing, { top: horizon, bottom: base })
    return markupOf(stage)
  }
  drawSea(stage, lightX)
  const shore = standing.length > 0 ? drawShore(stage) : base
  drawThings(stage, swimming, { top: horizon, bottom: shore })
  drawThings(stage, standing, { top: shore, bottom: base })
  return markupOf(stage)
}

/** Draws the changes of an edit: a tint, and objects in the foreground. */
export function drawEdit({ prompt, seed, ...size }: Request): string {
  const chance = chanceFrom(prompt, seed)
  const { things, time, colours } = readPrompt(prompt)
  const stage = openStage({ ...size, chance, time: time ?? 'day' })
  const { width, height, short, base, shapes } = stage
  const [top, bottom, opacity] = washes[time ?? chance.pick(['day', 'sunset'])]
  const isTinted = things.length === 0 && colours.length > 0
  const wash = isTinted ? [colours[0]!, colours.at(-1)!] : [top, bottom]
  if (time !== undefined || things.length === 0) {
    shapes.push(rect(0, 0, [width, height], shade(stage, wash), { opacity }))
  }
  drawThings(stage, things, { top: base - short * 0.2, bottom: base })
  return markupOf(stage)
}

/** Draws objects side by side, distant ones first. */
function drawThings(stage: Stage, things: readonly Thing[], { top, bottom }: Band): void {
  const { width, short, chance, time, lit, shapes } = stage
  const all = things
    .flatMap((thing) => Array.from({ length: thing.count }, () => thing))
    .slice(0, drawnMax)
  const slot = width / all.length
  const scale = all.length <= 2 ? 1 : all.length <= 5 ? 0.84 : 0.66
  const placements = all.map((thing, at) => {
    const { size: share, depth } = kinds[thing.name]
    const size = Math.min(short * share * scale, slot * 1.05, bottom * 0.92)
    const wobble = all.length === 1 ? chance.pick([0.34, 0.5, 0.66]) : chance.between(0.42, 0.58)
    const x = Math.max(size * 0.54, Math.min(width - size * 0.54, slot * (at + wobble)))
    const y = Math.max(size, top + (bottom - top) * Math.min(1, depth * chance.between(0.92, 1.05)))
    return { ...thing, x, y, size, flip: chance.whole(0, 1) === 0 }
  })
  for (const { name, colour, x, y, size, flip } of placements.toSorted((a, b) => a.y - b.y)) {
    const { draw, depth, swims } = kinds[name]
    const tone = (own: string) => lit(own, (1 - depth) * 0.4)
    const pen: Pen = {
      main: (own) => tone(colour ?? own),
      tone,
      isColoured: colour !== undefined,
      window: time === 'day' ? tone('#9cc9dd') : '#ffd98a',
      chance,
    }
    if (!swims) shapes.push(ellipse(x, y, [size * 0.42, size * 0.05], '#141433', 0.2))
    shapes.push(placed(draw(pen), { x, y, scale: size / 100, flip }))
  }
}
